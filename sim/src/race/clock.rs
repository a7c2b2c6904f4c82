//! Vector clocks: what an agent has seen of all others.
//!
//! An agent is a thread, or something that accesses memory on a thread's behalf at its own pace: the copies of an
//! mbarrier, a thread's bulk copies, a group of `cp.async`. Each agent counts its own time; it moves on whenever the agent
//! releases what it did, so one number stands for all accesses between two releases.
//!
//! Threads that passed the same barrier have seen the same, so they share one vector, and a thread's own event lies
//! beside the vector: a barrier of 1024 threads then costs one vector, not 1024.

use std::collections::BTreeMap;
use std::rc::Rc;

/// An agent of a cluster: its threads first, CTA by CTA, then whatever else accesses memory.
pub type Agent = u32;
/// How often an agent has released, counted from 1; 0 is before it did anything.
pub type Time = u32;

/// All accesses of an agent between two of its releases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Event {
    /// The agent's cluster, by its index in the grid.
    pub cluster: u32,
    /// The agent within the cluster.
    pub agent: Agent,
    /// When.
    pub time: Time,
}

/// What an agent has seen: for each agent, everything up to some time.
#[derive(Clone, Debug)]
pub struct Clock {
    cluster: u32,
    /// Times by agent of the own cluster; those beyond the end are 0.
    own: Rc<Vec<Time>>,
    /// One more event of the own cluster, usually the agent's own; time 0 if there is none.
    beside: (Agent, Time),
    /// Times by cluster and agent. Only atomics on global memory order clusters, so this is rare.
    others: Option<Rc<BTreeMap<u32, Rc<Vec<Time>>>>>,
}

impl Clock {
    /// The clock of an agent of `cluster` that has seen nothing.
    pub fn new(cluster: u32) -> Self {
        Self {
            cluster,
            own: Rc::default(),
            beside: (0, 0),
            others: None,
        }
    }

    /// Whether the event has been seen.
    #[inline]
    pub fn knows(&self, event: Event) -> bool {
        if event.cluster == self.cluster {
            self.own
                .get(event.agent as usize)
                .is_some_and(|&time| time >= event.time)
                || (self.beside.0 == event.agent && self.beside.1 >= event.time)
                || event.time == 0
        } else {
            self.knows_of_another_cluster(event)
        }
    }

    #[cold]
    fn knows_of_another_cluster(&self, event: Event) -> bool {
        let times = self.others.as_ref().and_then(|others| others.get(&event.cluster));
        event.time == 0
            || times
                .and_then(|times| times.get(event.agent as usize))
                .is_some_and(|&time| time >= event.time)
    }

    /// Marks the event as seen, and with it everything that its agent did before.
    pub fn record(&mut self, event: Event) {
        if self.knows(event) {
            return;
        }
        if event.cluster != self.cluster {
            let others = Rc::make_mut(self.others.get_or_insert_default());
            raise(others.entry(event.cluster).or_default(), event.agent, event.time);
        } else if self.beside.1 == 0 || self.beside.0 == event.agent {
            self.beside = (event.agent, event.time);
        } else {
            raise(&mut self.own, event.agent, event.time);
        }
    }

    /// Marks everything as seen that the other clock has seen.
    pub fn join(&mut self, other: &Self) {
        if other.cluster == self.cluster {
            join_times(&mut self.own, &other.own);
        } else if !other.own.is_empty() {
            let others = Rc::make_mut(self.others.get_or_insert_default());
            join_times(others.entry(other.cluster).or_default(), &other.own);
        }
        self.record(Event {
            cluster: other.cluster,
            agent: other.beside.0,
            time: other.beside.1,
        });
        if let Some(theirs) = &other.others {
            self.join_other_clusters(theirs);
        }
    }

    fn join_other_clusters(&mut self, theirs: &Rc<BTreeMap<u32, Rc<Vec<Time>>>>) {
        if self.others.as_ref().is_some_and(|ours| Rc::ptr_eq(ours, theirs)) {
            return;
        }
        for (&cluster, times) in theirs.iter() {
            if cluster == self.cluster {
                join_times(&mut self.own, times);
            } else {
                let ours = Rc::make_mut(self.others.get_or_insert_default());
                join_times(ours.entry(cluster).or_default(), times);
            }
        }
    }

    /// Joins the clocks of agents of one cluster, and one event of each: the result is the clock that all of them leave
    /// a barrier with. Participants that share a vector need only one join.
    pub fn join_all<'a>(participants: impl IntoIterator<Item = (&'a Clock, Event)>) -> Option<Self> {
        let mut participants = participants.into_iter();
        let (first, event) = participants.next()?;
        let mut joint = first.clone();
        let mut events = vec![event];
        // Participants that have met at a barrier before share one vector, and are mostly adjacent here.
        let mut previous = first;
        for (clock, event) in participants {
            let same = Rc::ptr_eq(&clock.own, &previous.own)
                && match (&clock.others, &previous.others) {
                    (None, None) => true,
                    (Some(a), Some(b)) => Rc::ptr_eq(a, b),
                    _ => false,
                };
            if !same {
                joint.join(clock);
                previous = clock;
            }
            events.push(clock.event_beside());
            events.push(event);
        }
        let beside = std::mem::take(&mut joint.beside);
        raise(&mut joint.own, beside.0, beside.1);
        for event in events {
            if event.cluster == joint.cluster {
                raise(&mut joint.own, event.agent, event.time);
            } else {
                joint.record(event);
            }
        }
        Some(joint)
    }

    fn event_beside(&self) -> Event {
        Event {
            cluster: self.cluster,
            agent: self.beside.0,
            time: self.beside.1,
        }
    }
}

/// Raises one agent's time to at least `time`.
fn raise(times: &mut Rc<Vec<Time>>, agent: Agent, time: Time) {
    let agent = agent as usize;
    if times.get(agent).copied().unwrap_or(0) >= time {
        return;
    }
    let times = Rc::make_mut(times);
    if times.len() <= agent {
        times.resize(agent + 1, 0);
    }
    times[agent] = time;
}

/// Takes the elementwise maximum of the times, and shares `theirs` where that is the result.
fn join_times(ours: &mut Rc<Vec<Time>>, theirs: &Rc<Vec<Time>>) {
    if Rc::ptr_eq(ours, theirs) {
        return;
    }
    // Without an early exit, so that the loop is vectorized.
    let (mut lower, mut higher) = (theirs.len() <= ours.len(), ours.len() <= theirs.len());
    for (a, b) in ours.iter().zip(theirs.iter()) {
        lower &= b <= a;
        higher &= a <= b;
    }
    if lower {
        return;
    }
    if higher {
        *ours = Rc::clone(theirs);
        return;
    }
    let ours = Rc::make_mut(ours);
    if ours.len() < theirs.len() {
        ours.resize(theirs.len(), 0);
    }
    for (a, b) in ours.iter_mut().zip(theirs.iter()) {
        *a = (*a).max(*b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(cluster: u32, agent: Agent, time: Time) -> Event {
        Event { cluster, agent, time }
    }

    #[test]
    fn an_event_implies_the_earlier_ones_of_its_agent() {
        let mut clock = Clock::new(0);
        clock.record(event(0, 3, 5));
        assert!(clock.knows(event(0, 3, 4)) && clock.knows(event(0, 3, 5)));
        assert!(!clock.knows(event(0, 3, 6)) && !clock.knows(event(0, 2, 1)));
        clock.record(event(0, 3, 2));
        assert!(clock.knows(event(0, 3, 5)));
    }

    #[test]
    fn several_events_are_kept() {
        let mut clock = Clock::new(0);
        for agent in [7, 2, 9] {
            clock.record(event(0, agent, agent));
        }
        clock.record(event(4, 1, 1));
        for agent in [7, 2, 9] {
            assert!(clock.knows(event(0, agent, agent)));
        }
        assert!(clock.knows(event(4, 1, 1)) && !clock.knows(event(4, 2, 1)) && !clock.knows(event(5, 1, 1)));
    }

    #[test]
    fn a_join_is_the_union() {
        let (mut a, mut b) = (Clock::new(0), Clock::new(0));
        for (agent, time) in [(0, 4), (1, 1), (5, 2)] {
            a.record(event(0, agent, time));
        }
        for (agent, time) in [(0, 2), (1, 3), (2, 2)] {
            b.record(event(0, agent, time));
        }
        let before = b.clone();
        a.join(&b);
        for (agent, time) in [(0, 4), (1, 3), (2, 2), (5, 2)] {
            assert!(a.knows(event(0, agent, time)));
            assert!(!a.knows(event(0, agent, time + 1)));
        }
        assert!(!before.knows(event(0, 0, 3)));
    }

    #[test]
    fn a_join_across_clusters_keeps_them_apart() {
        let (mut a, mut b) = (Clock::new(0), Clock::new(1));
        a.record(event(0, 0, 2));
        b.record(event(1, 0, 5));
        b.record(event(1, 1, 6));
        b.join(&a);
        a.join(&b);
        assert!(a.knows(event(0, 0, 2)) && !a.knows(event(0, 0, 3)));
        assert!(a.knows(event(1, 0, 5)) && a.knows(event(1, 1, 6)) && !a.knows(event(1, 1, 7)));
        let mut c = Clock::new(2);
        c.join(&a);
        assert!(c.knows(event(0, 0, 2)) && c.knows(event(1, 1, 6)));
    }

    #[test]
    fn a_barrier_joins_all_clocks_and_all_events() {
        let mut clocks = vec![Clock::new(0); 4];
        clocks[2].record(event(0, 9, 3));
        clocks[3].record(event(1, 9, 3));
        let joint =
            Clock::join_all((0..4).map(|agent| (&clocks[agent as usize], event(0, agent, agent + 1))));
        let joint = joint.unwrap_or_else(|| Clock::new(0));
        for agent in 0..4 {
            assert!(joint.knows(event(0, agent, agent + 1)) && !joint.knows(event(0, agent, agent + 2)));
        }
        assert!(joint.knows(event(0, 9, 3)) && joint.knows(event(1, 9, 3)));
    }

    #[test]
    fn those_who_left_a_barrier_share_one_vector() {
        let clocks = vec![Clock::new(0); 3];
        let joint = Clock::join_all((0..3).map(|agent| (&clocks[agent as usize], event(0, agent, 1))));
        let joint = joint.unwrap_or_else(|| Clock::new(0));
        let mut thread = joint.clone();
        thread.record(event(0, 1, 2));
        assert!(Rc::ptr_eq(&thread.own, &joint.own));
        let mut waiter = Clock::new(0);
        waiter.record(event(0, 2, 1));
        waiter.join(&joint);
        assert!(Rc::ptr_eq(&waiter.own, &joint.own));
    }
}
