/* The C baseline: the time that the kernel needs for each kind of work, with plain system calls
 * relative to open directories, one after the other. It reads no clock, records no latency, formats
 * no names and allocates no memory in the loop. The engine `sync` of fsdyno does the same work on
 * files of the same names. A system call that fails ends the program with its name. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { DEPTH = 256, LISTING = 32 * 1024, BUFFER = 128 * 1024 };

static unsigned char buffer[BUFFER] __attribute__((aligned(4096)));
static char listings[DEPTH][LISTING] __attribute__((aligned(8)));
static char attributes[64 * 1024];

static void die(const char *call) {
  fprintf(stderr, "baseline: %s: %s\n", call, strerror(errno));
  exit(1);
}

/* The value of a call that must not be refused. */
#define MUST(call) must((call), #call)
static inline long must(long value, const char *call) {
  if (__builtin_expect(value < 0, 0)) die(call);
  return value;
}

static unsigned long long number(const char *text) {
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  switch (*end) {
    case 'K': return value << 10;
    case 'M': return value << 20;
    case 'G': return value << 30;
    default: return value;
  }
}

/* Bytes of one call: no more than the buffer holds. */
static size_t block_size(const char *text) {
  unsigned long long value = number(text);
  if (value == 0 || value > sizeof buffer) {
    errno = EINVAL;
    die("bytes of one call");
  }
  return value;
}

/* Counts a name of digits on by one, in place. */
static inline void next(char *last) {
  while (*last == '9') *last-- = '0';
  ++*last;
}

/* Many files: `files` of them in a worker's directory, `each` a directory, `bytes` in a file. */

enum work { CREATE, STAT, OPEN, RENAME, LINK, UNLINK, MKDIR, RMDIR, UNLINK_LINKS };

static void one(enum work work, int dir, const char *name, size_t bytes) {
  char other[16];
  struct stat stat;
  int fd;
  memcpy(other, name, sizeof other);
  switch (work) {
    case CREATE:
      fd = MUST(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
      if (bytes) MUST(write(fd, buffer, bytes));
      MUST(close(fd));
      break;
    case STAT:
      MUST(fstatat(dir, name, &stat, AT_SYMLINK_NOFOLLOW));
      break;
    case OPEN:
      fd = MUST(openat(dir, name, O_RDONLY | O_CLOEXEC));
      MUST(read(fd, buffer, BUFFER));
      MUST(close(fd));
      break;
    case RENAME: /* there and back: two operations */
      other[0] = 'r';
      MUST(renameat(dir, name, dir, other));
      MUST(renameat(dir, other, dir, name));
      break;
    case LINK:
      other[0] = 'l';
      MUST(linkat(dir, name, dir, other, 0));
      break;
    case UNLINK:
      MUST(unlinkat(dir, name, 0));
      break;
    case UNLINK_LINKS: /* so that links can be made again */
      other[0] = 'l';
      MUST(unlinkat(dir, other, 0));
      break;
    case MKDIR:
      other[0] = 'm';
      MUST(mkdirat(dir, other, 0700));
      break;
    case RMDIR:
      other[0] = 'm';
      MUST(unlinkat(dir, other, AT_REMOVEDIR));
      break;
  }
}

static void many(enum work work, const char *ground, uint64_t files, uint64_t each, size_t bytes) {
  char directory[16] = "d0000000", name[16] = "f0000000000";
  int base = MUST(open(ground, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (work == CREATE) {
    MUST(mkdirat(base, "op", 0700));
    MUST(mkdirat(base, "op/w000", 0700));
  }
  int worker = MUST(openat(base, "op/w000", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (work == CREATE) {
    for (uint64_t at = 0; at < files; at += each) {
      MUST(mkdirat(worker, directory, 0700));
      next(directory + 7);
    }
    strcpy(directory, "d0000000");
  }
  for (uint64_t at = 0; at < files;) {
    int dir = MUST(openat(worker, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    uint64_t end = at + each < files ? at + each : files;
    for (; at < end; at++) {
      one(work, dir, name, bytes);
      next(name + 10);
    }
    MUST(close(dir));
    next(directory + 7);
  }
}

/* One large file, by blocks in order, or at offsets all over it. */

static uint64_t state = 0x9E3779B97F4A7C15u;

static inline uint64_t below(uint64_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint64_t)(((unsigned __int128)state * limit) >> 64);
}

static void in_order(int writes, const char *path, uint64_t size, size_t block) {
  int flags = writes ? O_WRONLY | O_CREAT | O_EXCL : O_RDONLY;
  int fd = MUST(open(path, flags | O_CLOEXEC, 0600));
  for (uint64_t at = 0; at < size; at += block) {
    if (writes) MUST(pwrite(fd, buffer, block, at));
    else MUST(pread(fd, buffer, block, at));
  }
  if (writes) MUST(fsync(fd));
  MUST(close(fd));
}

static void all_over(int writes, const char *path, uint64_t count, size_t block, int direct) {
  int flags = (writes ? O_WRONLY : O_RDONLY) | (direct ? O_DIRECT : 0);
  int fd = MUST(open(path, flags | O_CLOEXEC));
  uint64_t blocks = MUST(lseek(fd, 0, SEEK_END)) / block;
  for (uint64_t done = 0; done < count; done++) {
    uint64_t at = below(blocks) * block;
    if (writes) MUST(pwrite(fd, buffer, block, at));
    else MUST(pread(fd, buffer, block, at));
  }
  if (writes) MUST(fsync(fd));
  MUST(close(fd));
}

/* Trees, depth first: `from` is walked, `to` is what a copy fills. */

static uint64_t seen, bytes_seen;

static void copy_file(int from_dir, int to_dir, const char *name) {
  struct stat stat;
  int from = MUST(openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  MUST(fstat(from, &stat));
  /* Whether there are extended attributes to keep; the trees this is run on have none. */
  if (flistxattr(from, attributes, sizeof attributes) > 0) {
    errno = ENOTSUP;
    die("extended attributes");
  }
  int to = MUST(openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, stat.st_mode & 07777));
  for (off_t left = stat.st_size; left > 0;) {
    ssize_t got = MUST(read(from, buffer, left < BUFFER ? left : BUFFER));
    if (got == 0) break;
    MUST(write(to, buffer, got));
    left -= got;
  }
  MUST(futimens(to, (struct timespec[]){stat.st_atim, stat.st_mtim}));
  MUST(close(to));
  MUST(close(from));
}

static void read_file(int dir, const char *name) {
  int fd = MUST(openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  ssize_t got;
  do {
    got = MUST(read(fd, buffer, BUFFER));
    bytes_seen += got;
  } while (got == BUFFER);
  MUST(close(fd));
}

static void tree(char work, int from, int to, int depth) {
  if (depth == DEPTH) {
    errno = ELOOP;
    die("a tree this deep");
  }
  char *listing = listings[depth];
  long length;
  while ((length = MUST(syscall(SYS_getdents64, from, listing, LISTING))) > 0) {
    for (long at = 0; at < length;) {
      struct dirent64 *entry = (struct dirent64 *)(listing + at);
      const char *name = entry->d_name;
      at += entry->d_reclen;
      if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]))) continue;
      seen++;
      struct stat stat;
      if (work == 'w') MUST(fstatat(from, name, &stat, AT_SYMLINK_NOFOLLOW));
      if (entry->d_type != DT_DIR) {
        if (work == 'c') copy_file(from, to, name);
        else if (work == 'd') MUST(unlinkat(from, name, 0));
        else if (work == 'r') read_file(from, name);
        continue;
      }
      int below = MUST(openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)), made = -1;
      if (work == 'c') {
        MUST(fstat(below, &stat));
        MUST(mkdirat(to, name, stat.st_mode & 07777));
        made = MUST(openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      }
      tree(work, below, made, depth + 1);
      if (work == 'c') {
        MUST(futimens(made, (struct timespec[]){stat.st_atim, stat.st_mtim}));
        MUST(close(made));
      }
      MUST(close(below));
      if (work == 'd') MUST(unlinkat(from, name, AT_REMOVEDIR));
    }
  }
}

static void whole_tree(char work, const char *from, const char *to) {
  int source = MUST(open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), target = -1;
  if (work == 'c') {
    MUST(mkdir(to, 0755));
    target = MUST(open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  tree(work, source, target, 0);
  MUST(close(source));
  if (work == 'd') MUST(rmdir(from));
}

/* A plain tar archive of directories and files, as GNU tar writes it where names are short. */

static uint64_t octal(const unsigned char *field, int length) {
  uint64_t value = 0;
  for (int at = 0; at < length && field[at] >= '0' && field[at] <= '7'; at++)
    value = value << 3 | (field[at] - '0');
  return value;
}

static void fill(int archive, unsigned char *into, size_t length) {
  while (length > 0) {
    ssize_t got = MUST(read(archive, into, length));
    if (got == 0) {
      errno = EPIPE;
      die("an archive that ends too early");
    }
    into += got;
    length -= got;
  }
}

static void unpack(const char *path, const char *to) {
  static unsigned char window[1 << 20];
  size_t from = 0, have = 0;
  int archive = MUST(open(path, O_RDONLY | O_CLOEXEC));
  MUST(mkdir(to, 0755));
  int dir = MUST(open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int holder = -1;
  char held[260] = "";
  for (;;) {
    /* A member of a small file lies in the window as a whole. */
    if (have - from < BUFFER) {
      memmove(window, window + from, have - from);
      have -= from;
      from = 0;
      ssize_t got;
      while (have < sizeof window && (got = MUST(read(archive, window + have, sizeof window - have))) > 0)
        have += got;
    }
    unsigned char *head = window + from;
    if (have - from < 512 || !head[0]) break;
    char name[260] = "";
    snprintf(name, sizeof name, "%.155s%s%.100s", (char *)head + 345, head[345] ? "/" : "", (char *)head);
    mode_t mode = octal(head + 100, 7);
    uint64_t size = octal(head + 124, 11);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = octal(head + 136, 11)}};
    char kind = head[156];
    from += 512;
    seen++;
    if (kind == '5') {
      size_t length = strlen(name);
      while (length > 1 && name[length - 1] == '/') name[--length] = 0;
      if (strcmp(name, ".") && mkdirat(dir, name, mode | 0700) < 0 && errno != EEXIST) die("mkdirat");
      continue;
    }
    if (kind != '0') {
      errno = ENOTSUP;
      die("a member that is neither file nor directory");
    }
    /* The directory of the file before is still open. */
    char *leaf = strrchr(name, '/');
    int at = dir;
    if (leaf) {
      *leaf++ = 0;
      if (holder < 0 || strcmp(held, name)) {
        if (holder >= 0) MUST(close(holder));
        holder = MUST(openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        strcpy(held, name);
      }
      at = holder;
    }
    int fd = MUST(openat(at, leaf ? leaf : name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    uint64_t padding = -size & 511;
    for (uint64_t left = size; left > 0;) {
      if (from == have) {
        from = 0;
        have = left + padding < sizeof window ? left + padding : sizeof window;
        fill(archive, window, have);
      }
      size_t length = left < have - from ? left : have - from;
      MUST(write(fd, window + from, length));
      from += length;
      left -= length;
    }
    from += padding;
    MUST(futimens(fd, times));
    MUST(close(fd));
  }
}

int main(int argc, char **argv) {
  static const char *names[] = {"create", "stat", "open", "rename", "link", "unlink", "mkdir", "rmdir", "unlink-links"};
  static const char *trees[] = {"copy", "delete", "read", "walk"};
  memset(buffer, 0xa5, sizeof buffer);
  memset(listings[0], 1, sizeof listings[0]);
  for (unsigned at = 0; argc == 6 && at < sizeof names / sizeof *names; at++)
    if (!strcmp(argv[1], names[at])) {
      many(at, argv[2], number(argv[3]), number(argv[4]), *argv[5] == '0' ? 0 : block_size(argv[5]));
      return 0;
    }
  for (unsigned at = 0; argc >= 3 && at < sizeof trees / sizeof *trees; at++)
    if (!strcmp(argv[1], trees[at]) && (at > 0 || argc == 4)) {
      whole_tree(*trees[at], argv[2], argc > 3 ? argv[3] : NULL);
      return 0;
    }
  if (argc == 4 && !strcmp(argv[1], "untar")) unpack(argv[2], argv[3]);
  else if (argc == 5 && !strcmp(argv[1], "seq-write")) in_order(1, argv[2], number(argv[3]), block_size(argv[4]));
  else if (argc == 5 && !strcmp(argv[1], "seq-read")) in_order(0, argv[2], number(argv[3]), block_size(argv[4]));
  else if (argc == 6 && !strcmp(argv[1], "random-write"))
    all_over(1, argv[2], number(argv[3]), block_size(argv[4]), *argv[5] == 'd');
  else if (argc == 6 && !strcmp(argv[1], "random-read"))
    all_over(0, argv[2], number(argv[3]), block_size(argv[4]), *argv[5] == 'd');
  else {
    fputs("usage: baseline create|stat|open|rename|link|unlink|mkdir|rmdir|unlink-links DIR FILES EACH BYTES\n"
          "       baseline copy FROM TO | untar ARCHIVE TO | delete|read|walk TREE\n"
          "       baseline seq-write|seq-read FILE SIZE BLOCK\n"
          "       baseline random-write|random-read FILE COUNT BLOCK direct|cached\n", stderr);
    return 2;
  }
  return 0;
}
