//! Why two programs stay apart.

use std::fmt;

/// The reason why two programs are not fused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// An op between them depends on the one, and the other depends on it.
    Between,
    /// An element is read at coordinates that do not determine the point that computes it.
    Coordinates,
    /// The values are needed elsewhere too, and each space has dims that the other lacks.
    Spaces,
    /// The programs have only reads in common, and a space has dims that the other lacks.
    Unshared,
    /// The result of a reduction is needed at points beyond those that the reduction ranges over or is kept for.
    Wider,
    /// A reduction would be computed for several coordinates of the same dim.
    Again,
    /// The results of a reduction that a dim counts are needed at coordinates other than that dim.
    Counted,
    /// A reduction with several results would compute what it ranges over again for each of them.
    Passes,
    /// Two reductions are over different dims, and each would have to wait for all points of the other.
    Crossing,
    /// The single result of a reduction over dynamic extents is needed at all points.
    Everywhere,
    /// A guard of the one would concern points of the other, or leave out a dim that a reduction ranges over.
    Guards,
    /// One is a scan, whose order of points the graph does not represent.
    Scan,
    /// One has an extent that is the size of a result, which comes from outside.
    Sized,
    /// One makes a tensor by writes that do not determine its dynamic sizes.
    Reach,
    /// One holds an op that the graph does not represent.
    Unread,
    /// A result may share the memory of the argument of this name, which would be read at other points than those that write the result.
    Alias(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Between => f.write_str("an op between them needs the one and is needed by the other"),
            Stop::Coordinates => {
                f.write_str("it is read at coordinates that do not say which point makes it")
            }
            Stop::Spaces => f.write_str("it is needed elsewhere too, and neither space is part of the other"),
            Stop::Unshared => f.write_str("they read the same tensor at points of different spaces"),
            Stop::Wider => {
                f.write_str("what a reduction comes to is needed at points that it does not range over")
            }
            Stop::Again => f.write_str("a reduction would be computed more than once"),
            Stop::Counted => {
                f.write_str("the results of a reduction, which a dim counts, are needed at other coordinates")
            }
            Stop::Passes => f.write_str(
                "a reduction with several results would compute what it ranges over again for each of them",
            ),
            Stop::Crossing => f.write_str("reductions over different dims would wait for each other"),
            Stop::Everywhere => f.write_str("everything waits for a reduction of everything"),
            Stop::Guards => f.write_str("a guard of the one would leave out points of the other"),
            Stop::Scan => f.write_str("a scan is fused with nothing"),
            Stop::Sized => f.write_str("an extent of the one is the size of a result"),
            Stop::Reach => f.write_str("the writes of the one do not say how large its result is"),
            Stop::Unread => f.write_str("the one computes what is not a scalar program over dims"),
            Stop::Alias(argument) => write!(
                f,
                "a result may be the same memory as '{argument}', which would be read elsewhere than it is written"
            ),
        }
    }
}
