//! What to do for each file system and layout, as steps; executes nothing.
