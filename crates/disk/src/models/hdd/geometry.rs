//! Disk geometry: zone, cylinder, head and angle of a sector.
//!
//! Sector numbers increase track by track, from the outer cylinders inwards. All tracks of a
//! cylinder precede the next cylinder. Angles are nanoseconds of a revolution, so that a run of
//! sectors ends exactly where the next one starts.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Cylinder, 0 is the outermost.
    pub cylinder: u32,
    pub head: u32,
    /// Sector within the track.
    pub sector: u64,
    pub of_track: u64,
    /// Angle at which the track starts, in nanoseconds of the revolution.
    pub skew: u64,
}

/// A range of cylinders with equal sectors per track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Zone {
    first_sector: u64,
    first_cylinder: u32,
    of_track: u64,
}

#[derive(Debug, Clone)]
pub struct Geometry {
    zones: Vec<Zone>,
    heads: u32,
    cylinders: u32,
    turn_ns: u64,
    /// Track skew within and between cylinders.
    track_skew_ns: u64,
    cylinder_skew_ns: u64,
    /// Angle of the platters at time zero.
    start_ns: u64,
}

impl Geometry {
    /// Creates a disk of at least `sectors`, in `zones` of equally many cylinders. Sectors per
    /// track decrease evenly from `outer` in the first zone to `inner` in the last.
    pub fn new(sectors: u64, zones: u32, heads: u32, outer: u64, inner: u64, turn_ns: u64) -> Self {
        let of_track = |zone: u32| {
            let steps = u64::from(zones.max(2) - 1);
            let fallen = (outer - inner) * u64::from(zone);
            outer - (2 * fallen + steps) / (2 * steps)
        };
        let of_tracks: u64 = (0..zones).map(of_track).sum();
        let each = sectors.div_ceil(of_tracks * u64::from(heads)).max(1);
        let each = u32::try_from(each).unwrap_or(u32::MAX / zones);
        let mut placed = Vec::new();
        let mut first_sector = 0;
        for zone in 0..zones {
            placed.push(Zone {
                first_sector,
                first_cylinder: zone * each,
                of_track: of_track(zone),
            });
            first_sector += of_track(zone) * u64::from(heads) * u64::from(each);
        }
        Self {
            zones: placed,
            heads,
            cylinders: zones * each,
            turn_ns,
            track_skew_ns: 0,
            cylinder_skew_ns: 0,
            start_ns: 0,
        }
    }

    /// Sets the angle of the platters at time zero, as a share of a revolution in units of 2^-32.
    pub fn turn(&mut self, share: u32) {
        self.start_ns = (self.turn_ns * u64::from(share)) >> 32;
    }

    #[must_use]
    pub fn skewed(self, track_skew_ns: u64, cylinder_skew_ns: u64) -> Self {
        Self {
            track_skew_ns,
            cylinder_skew_ns,
            ..self
        }
    }

    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// Tracks per cylinder.
    pub fn heads(&self) -> u32 {
        self.heads
    }

    pub fn turn_ns(&self) -> u64 {
        self.turn_ns
    }

    pub fn place(&self, sector: u64) -> Place {
        let next_zone = self
            .zones
            .partition_point(|zone| zone.first_sector <= sector);
        let zone = self.zones[next_zone.max(1) - 1];
        let within = sector - zone.first_sector;
        let track = within / zone.of_track;
        let heads = u64::from(self.heads);
        let cylinder = u64::from(zone.first_cylinder) + track / heads;
        let head = track % heads;
        let of_cylinder = (heads - 1) * self.track_skew_ns + self.cylinder_skew_ns;
        let skew = cylinder * of_cylinder + head * self.track_skew_ns;
        Place {
            cylinder: u32::try_from(cylinder).unwrap_or(u32::MAX),
            head: u32::try_from(head).unwrap_or_default(),
            sector: within % zone.of_track,
            of_track: zone.of_track,
            skew: skew % self.turn_ns,
        }
    }

    pub fn first_of(&self, cylinder: u32) -> u64 {
        let next_zone = self
            .zones
            .partition_point(|zone| zone.first_cylinder <= cylinder);
        let zone = self.zones[next_zone.max(1) - 1];
        let within = u64::from(cylinder - zone.first_cylinder);
        zone.first_sector + within * u64::from(self.heads) * zone.of_track
    }

    /// Angle from the start of a track to the start of a sector.
    pub fn angle_within(&self, of_track: u64, sector: u64) -> u64 {
        // A revolution is below 2^35 nanoseconds and a track below 2^20 sectors.
        sector * self.turn_ns / of_track
    }

    /// Time, not before `now`, at which a sector starts to pass its head.
    pub fn sector_passes_at(&self, place: &Place, now: u64) -> u64 {
        let angle = (place.skew + self.angle_within(place.of_track, place.sector)) % self.turn_ns;
        let here = (now + self.start_ns) % self.turn_ns;
        now + (angle + self.turn_ns - here) % self.turn_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry() -> Geometry {
        Geometry::new(100_000, 4, 3, 200, 100, 10_000_000).skewed(300_000, 700_000)
    }

    #[test]
    fn every_sector_has_a_unique_position_in_order() {
        let geometry = geometry();
        let mut before: Option<Place> = None;
        for sector in 0..100_000 {
            let place = geometry.place(sector);
            assert!(place.sector < place.of_track && place.head < 3);
            assert!(place.cylinder < geometry.cylinders());
            if let Some(before) = before {
                let key = |p: &Place| (p.cylinder, p.head, p.sector);
                assert!(key(&before) < key(&place), "{sector}");
            }
            before = Some(place);
        }
        assert_eq!(geometry.place(0).of_track, 200);
        let last = geometry.first_of(geometry.cylinders() - 1);
        assert_eq!(geometry.place(last).of_track, 100);
        assert_eq!(geometry.place(last).sector, 0);
    }

    #[test]
    fn a_sector_passes_once_per_revolution_after_its_predecessor() {
        let geometry = geometry();
        let (a, b) = (geometry.place(7), geometry.place(8));
        let begins = geometry.sector_passes_at(&a, 123_456_789);
        assert!((123_456_789..133_456_789).contains(&begins));
        assert_eq!(geometry.sector_passes_at(&a, begins), begins);
        assert_eq!(
            geometry.sector_passes_at(&a, begins + 1),
            begins + 10_000_000
        );
        assert_eq!(
            geometry.sector_passes_at(&b, begins),
            begins + 10_000_000 / 200
        );
        // The skew delays the start of the next track.
        let (end, next) = (geometry.place(0), geometry.place(200));
        let begins = geometry.sector_passes_at(&end, 0);
        assert_eq!(geometry.sector_passes_at(&next, begins), begins + 300_000);
        // Platters that were turned by a quarter pass each sector a quarter earlier.
        let mut turned = geometry.clone();
        turned.turn(1 << 30);
        let begins = geometry.sector_passes_at(&a, 20_000_000);
        let earlier = turned.sector_passes_at(&a, 20_000_000);
        assert_eq!((begins + 7_500_000 - earlier) % 10_000_000, 0);
    }
}
