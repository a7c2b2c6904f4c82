//! A figure as SVG: lines over a logarithmic axis.

use std::fmt::Write as _;

use super::escaped;

/// A figure.
pub(super) struct Chart {
    pub title: &'static str,
    /// The label of the horizontal axis, which is logarithmic.
    pub x: &'static str,
    /// The label of the vertical axis.
    pub y: &'static str,
    pub y_scale: Scale,
    /// The lines, of which the first is drawn last, above the others.
    pub series: Vec<Series>,
}

/// A line of a figure.
pub(super) struct Series {
    pub name: String,
    /// A class of CSS, which sets the colour.
    pub class: &'static str,
    /// The points; all coordinates are above 0.
    pub points: Vec<(f64, f64)>,
    /// Whether the points were measured; otherwise the line is a bound.
    pub is_measured: bool,
}

/// How an axis places its values.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Scale {
    /// From 0, with equal steps.
    Linear,
    /// With equal ratios.
    Logarithmic,
}

/// The size of a figure and the margins around its axes, in units of the drawing. A telephone shows the figure at three quarters
/// of this size, in which its text is still readable.
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 290.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 46.0;
const FONT_SIZE: f64 = 13.0;
/// The least distances between the labels of an axis, which are wider than high.
const LEAST_X_GAP: f64 = 44.0;
const LEAST_Y_GAP: f64 = 22.0;
/// The largest number of grid lines along an axis.
const MOST_TICKS: usize = 8;

struct Axis {
    scale: Scale,
    least: f64,
    most: f64,
    /// The positions of `least` and `most` in the drawing.
    ends: (f64, f64),
}

impl Axis {
    fn of(scale: Scale, values: impl Iterator<Item = f64> + Clone, ends: (f64, f64)) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        // A small margin, which also keeps the range of a single value from being empty.
        let (least, most) = match scale {
            Scale::Linear => (0.0, most * 1.08),
            Scale::Logarithmic => (least / 1.25, most * 1.25),
        };
        Self {
            scale,
            least,
            most,
            ends,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => value / self.most,
            Scale::Logarithmic => (value / self.least).ln() / (self.most / self.least).ln(),
        };
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// The values of grid lines: the most of those that are round, are not too many, and have labels that do not touch.
    fn ticks(&self, least_gap: f64) -> Vec<f64> {
        let candidates = match self.scale {
            Scale::Linear => self.linear_ticks(),
            Scale::Logarithmic => self.logarithmic_ticks(),
        };
        let fits = |ticks: &Vec<f64>| {
            let gap = |pair: &[f64]| (self.place(pair[1]) - self.place(pair[0])).abs();
            ticks.len() <= MOST_TICKS && ticks.windows(2).all(|pair| gap(pair) >= least_gap)
        };
        candidates.into_iter().find(fits).unwrap_or_default()
    }

    /// The multiples of 1, 2 and 5 times powers of ten, densest first.
    fn linear_ticks(&self) -> Vec<Vec<f64>> {
        let decade = self.most.log10().floor() as i32;
        let steps =
            (decade - 1..=decade).flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power)));
        let multiples = |step: f64| {
            let count = (self.most / step).floor() as u32;
            (0..=count).map(|factor| f64::from(factor) * step).collect()
        };
        steps.map(multiples).collect()
    }

    /// Round numbers times powers of ten, densest first; the last have only every second and third power, and so on.
    fn logarithmic_ticks(&self) -> Vec<Vec<f64>> {
        let decades = (self.least.log10().floor() as i32)..=(self.most.log10().ceil() as i32);
        let times = |steps: &[f64], stride: usize| -> Vec<f64> {
            let powers = decades
                .clone()
                .filter(|power| power.rem_euclid(stride as i32) == 0);
            let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
            all.filter(|tick| (self.least..=self.most).contains(tick))
                .collect()
        };
        let tenths = |by: usize| -> Vec<f64> {
            (10..100)
                .step_by(by)
                .map(|tenth| f64::from(tenth) / 10.0)
                .collect()
        };
        let dense = [1, 2, 5, 10].map(|by| times(&tenths(by), 1));
        let sparse = (1..=MOST_TICKS).map(|stride| times(&[1.0], stride));
        dense
            .into_iter()
            .chain([times(&[1.0, 2.0, 5.0], 1)])
            .chain(sparse)
            .collect()
    }
}

impl Chart {
    /// Renders the figure, or a sentence if there is nothing to draw. Its names are in the caption, where they can wrap.
    pub(super) fn figure(&self) -> String {
        let drawn = self.series.iter().filter(|series| !series.points.is_empty());
        let keys: String = drawn
            .clone()
            .map(|series| {
                format!(
                    " <span class=\"key {}\">{}</span>",
                    series.class,
                    escaped(&series.name)
                )
            })
            .collect();
        if keys.is_empty() {
            return format!("<p>{}: nothing was measured.</p>", self.title);
        }
        let points = drawn.flat_map(|series| &series.points);
        let x = points.clone().map(|(x, _)| *x);
        let x = Axis::of(Scale::Logarithmic, x, (LEFT, WIDTH - RIGHT));
        let y = Axis::of(self.y_scale, points.map(|(_, y)| *y), (HEIGHT - BOTTOM, TOP));
        format!(
            "<figure><figcaption><b>{}</b>{keys}</figcaption>{}</figure>",
            self.title,
            self.svg(&x, &y)
        )
    }

    fn svg(&self, x: &Axis, y: &Axis) -> String {
        let mut text = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-size=\"{FONT_SIZE}\"><title>{}</title>",
            self.title
        );
        // Writing to a string does not fail.
        for tick in x.ticks(LEAST_X_GAP) {
            let at = x.place(tick);
            let _ = write!(
                text,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 16.0,
                short(tick)
            );
        }
        for tick in y.ticks(LEAST_Y_GAP) {
            let at = y.place(tick);
            let _ = write!(
                text,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0,
                short(tick)
            );
        }
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let _ = write!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text x=\"14\" y=\"{middle:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {middle:.1})\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 10.0,
            self.x,
            self.y
        );
        for series in self.series.iter().rev() {
            text += &self.line(series, x, y);
        }
        text + "</svg>"
    }

    /// Renders a line: dashed for a bound, otherwise with a mark at each point.
    fn line(&self, series: &Series, x: &Axis, y: &Axis) -> String {
        let places = series
            .points
            .iter()
            .map(|(at, value)| (x.place(*at), y.place(*value)));
        let line: Vec<String> = places.clone().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dashes = if series.is_measured {
            ""
        } else {
            " stroke-dasharray=\"6 4\""
        };
        let mut text = format!(
            "<g class=\"{}\"><polyline points=\"{}\"{dashes}/>",
            series.class,
            line.join(" ")
        );
        let marked = places.zip(&series.points).filter(|_| series.is_measured);
        for ((x, y), (at, value)) in marked {
            let _ = write!(
                text,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\"><title>{}: {} {} at {} {}</title></circle>",
                escaped(&series.name),
                short(*value),
                self.y,
                short(*at),
                self.x
            );
        }
        text + "</g>"
    }
}

/// Formats a number in a few characters, such as `16.8M`.
fn short(value: f64) -> String {
    let (scaled, unit) = match value {
        1e12.. => (value / 1e12, "T"),
        1e9.. => (value / 1e9, "G"),
        1e6.. => (value / 1e6, "M"),
        1e4.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = match scaled {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    };
    let text = format!("{scaled:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let all = [0.5, 6.1, 100.0, 4300.0, 16_785_408.0, 2e9];
        assert_eq!(all.map(short), ["0.5", "6.1", "100", "4300", "16.8M", "2G"]);
    }

    fn logarithmic(values: &[f64]) -> Axis {
        Axis::of(Scale::Logarithmic, values.iter().copied(), (0.0, 400.0))
    }

    #[test]
    fn an_axis_places_its_values_in_order_and_within_its_ends() {
        let axis = logarithmic(&[10.0, 1000.0]);
        let places = [10.0, 100.0, 1000.0].map(|value| axis.place(value));
        assert!(0.0 < places[0] && places[0] < places[1] && places[1] < places[2] && places[2] < 400.0);
        assert!((places[1] - 200.0).abs() < 1e-9);
        // A single value has an axis too.
        assert!(logarithmic(&[7.0]).place(7.0).is_finite());
        let axis = Axis::of(Scale::Linear, [50.0, 100.0].into_iter(), (0.0, 108.0));
        assert!((axis.place(0.0), axis.place(100.0)) == (0.0, 100.0));
    }

    #[test]
    fn labels_of_an_axis_are_round_and_apart() {
        assert_eq!(
            logarithmic(&[10.0, 1000.0]).ticks(40.0),
            [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        );
        assert_eq!(
            logarithmic(&[2700.0, 4200.0]).ticks(40.0),
            [2500.0, 3000.0, 3500.0, 4000.0, 4500.0, 5000.0]
        );
        // From 2 to 9 there are eight whole numbers, the last of which are close together.
        assert_eq!(logarithmic(&[2.0, 9.0]).ticks(40.0), [2.0, 5.0, 10.0]);
        assert_eq!(
            logarithmic(&[1e-4, 1e12]).ticks(40.0),
            [1e-3, 1.0, 1e3, 1e6, 1e9, 1e12]
        );
        let labels = |most: f64| -> Vec<String> {
            let axis = Axis::of(Scale::Linear, [most].into_iter(), (200.0, 0.0));
            axis.ticks(20.0).into_iter().map(short).collect()
        };
        assert_eq!(labels(4200.0), ["0", "1000", "2000", "3000", "4000"]);
        assert_eq!(labels(0.3), ["0", "0.05", "0.1", "0.15", "0.2", "0.25", "0.3"]);
        // Whatever the only value is, its axis has a label.
        for tenth in 1..2000 {
            let value = f64::from(tenth) / 10.0;
            assert!(!logarithmic(&[value]).ticks(40.0).is_empty(), "{value}");
        }
    }
}
