//! A figure as SVG: lines over two logarithmic axes.

use std::fmt::Write as _;

use super::escaped;

/// A figure.
pub(super) struct Chart {
    pub title: &'static str,
    /// The label of the horizontal axis.
    pub x: &'static str,
    /// The label of the vertical axis.
    pub y: &'static str,
    pub series: Vec<Series>,
}

/// A line of a figure.
pub(super) struct Series {
    pub name: String,
    /// A colour of CSS.
    pub colour: &'static str,
    /// The points; all coordinates are above 0.
    pub points: Vec<(f64, f64)>,
    /// Whether the points were measured; otherwise the line is a bound.
    pub is_measured: bool,
}

/// The size of a figure and the margins around its axes, in units of the drawing.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
/// The largest number of grid lines along an axis.
const MOST_TICKS: usize = 8;

/// A logarithmic axis.
struct Axis {
    least: f64,
    most: f64,
    /// The positions of `least` and `most` in the drawing.
    ends: (f64, f64),
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone, ends: (f64, f64)) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(0.0, f64::max);
        // A small margin, which also keeps the range of a single value from being empty.
        Self {
            least: least / 1.25,
            most: most * 1.25,
            ends,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let share = (value / self.least).ln() / (self.most / self.least).ln();
        self.ends.0 + share * (self.ends.1 - self.ends.0)
    }

    /// Digits times powers of ten; if these are too many, 1, 2 and 5 times powers of ten, and if these are too many, the
    /// powers alone.
    fn ticks(&self) -> Vec<f64> {
        let decades = (self.least.log10().floor() as i32)..=(self.most.log10().ceil() as i32);
        let ticks = |steps: &[f64]| -> Vec<f64> {
            let all = decades
                .clone()
                .flat_map(|decade| steps.iter().map(move |step| step * 10_f64.powi(decade)));
            all.filter(|tick| (self.least..=self.most).contains(tick))
                .collect()
        };
        let all = ticks(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        let few = ticks(&[1.0, 2.0, 5.0]);
        match (all.len() <= MOST_TICKS, few.len() <= MOST_TICKS) {
            (true, _) => all,
            (false, true) => few,
            (false, false) => ticks(&[1.0]),
        }
    }
}

impl Chart {
    /// Renders the figure, or a sentence if there is nothing to draw.
    pub(super) fn svg(&self) -> String {
        let points = self.series.iter().flat_map(|series| &series.points);
        if points.clone().next().is_none() {
            return format!("<p>{}: nothing was measured.</p>", self.title);
        }
        let x = Axis::of(points.clone().map(|(x, _)| *x), (LEFT, WIDTH - RIGHT));
        let y = Axis::of(points.map(|(_, y)| *y), (HEIGHT - BOTTOM, TOP));
        let mut text = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" font-size=\"13\" font-family=\"system-ui,sans-serif\">\
             <title>{}</title><text x=\"{LEFT}\" y=\"18\" font-weight=\"bold\">{}</text>",
            self.title, self.title
        );
        // Writing to a string does not fail.
        for tick in x.ticks() {
            let at = x.place(tick);
            let _ = write!(
                text,
                "<line x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{TOP}\" y2=\"{:.1}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM,
                HEIGHT - BOTTOM + 17.0,
                short(tick)
            );
        }
        for tick in y.ticks() {
            let at = y.place(tick);
            let _ = write!(
                text,
                "<line x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                at + 4.0,
                short(tick)
            );
        }
        let _ = write!(
            text,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text x=\"16\" y=\"{:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {:.1})\">{}</text>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 12.0,
            self.x,
            (TOP + HEIGHT - BOTTOM) / 2.0,
            (TOP + HEIGHT - BOTTOM) / 2.0,
            self.y
        );
        let mut legend = LEFT + 150.0;
        for series in self.series.iter().filter(|series| !series.points.is_empty()) {
            text += &series.svg(&x, &y);
            let name = escaped(&series.name);
            let _ = write!(
                text,
                "<rect x=\"{legend:.1}\" y=\"9\" width=\"12\" height=\"10\" fill=\"{}\"/><text x=\"{:.1}\" y=\"18\">{name}</text>",
                series.colour,
                legend + 17.0
            );
            legend += 45.0 + 7.5 * series.name.chars().count() as f64;
        }
        text + "</svg>"
    }
}

impl Series {
    /// Renders the line: dashed for a bound, otherwise with a mark at each point.
    fn svg(&self, x: &Axis, y: &Axis) -> String {
        let colour = self.colour;
        let places = self
            .points
            .iter()
            .map(|(at, value)| (x.place(*at), y.place(*value)));
        let line: Vec<String> = places.clone().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let dashes = if self.is_measured {
            ""
        } else {
            " stroke-dasharray=\"6 4\""
        };
        let mut text = format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
            line.join(" ")
        );
        if !self.is_measured {
            return text;
        }
        for ((at, value), (x, y)) in self.points.iter().zip(places) {
            let _ = write!(
                text,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"><title>{}: {} at {}</title></circle>",
                escaped(&self.name),
                short(*value),
                short(*at)
            );
        }
        text
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

    #[test]
    fn an_axis_places_its_values_in_order_and_within_its_ends() {
        let axis = Axis::of([10.0, 1000.0].into_iter(), (0.0, 100.0));
        let places = [10.0, 100.0, 1000.0].map(|value| axis.place(value));
        assert!(0.0 < places[0] && places[0] < places[1] && places[1] < places[2] && places[2] < 100.0);
        assert!((places[1] - 50.0).abs() < 1e-9);
        assert_eq!(axis.ticks(), [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(
            Axis::of([2700.0, 4200.0].into_iter(), (0.0, 1.0)).ticks(),
            [3000.0, 4000.0, 5000.0]
        );
        // A single value has an axis too.
        assert!(Axis::of([7.0].into_iter(), (0.0, 1.0)).place(7.0).is_finite());
    }
}
