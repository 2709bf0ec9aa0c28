// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/svg_axis.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "eval/html.h"

namespace cupel::eval {

namespace {

constexpr double kLargest = 1e150;  // a difference of two stays finite

int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
}

/// The round step (1, 2 or 5 times a power of ten) that cuts `span` into at most `most` pieces.
double round_step(double span, int most) {
  const double raw = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * power >= raw) return m * power;
  return 10 * power;
}

std::string without_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// Digits enough to tell `value` from `value + step`; `powers` writes 1.5e-5.
std::string linear_label(double value, double step, bool powers) {
  if (std::abs(value) < step * 1e-3) return "0";
  const int exponent = exponent_of(value), last = exponent_of(step);
  if (!powers) return fixed(value, std::max(0, -last));
  const int digits = std::clamp(exponent - last, 0, 15);
  return cat(without_zeros(fixed(value / std::pow(10.0, exponent), digits)), "e", exponent);
}

std::string log_label(int mantissa, int exponent) {
  if (exponent < -3 || exponent > 4) return cat(mantissa, "e", exponent);
  return fixed(mantissa * std::pow(10.0, exponent), std::max(0, -exponent));
}

}  // namespace

std::string px(double value) {
  return fixed(std::isfinite(value) ? value : 0, 2);
}

double text_width(const std::string& text) {
  return 8.5 * static_cast<double>(text.size());
}

Axis::Axis(const std::vector<double>& values, bool logarithmic, bool from_zero)
    : logarithmic_(logarithmic) {
  bool any = false;
  for (const double v : values) {
    if (!shows(v)) continue;
    low_ = any ? std::min(low_, scaled(v)) : scaled(v);
    high_ = any ? std::max(high_, scaled(v)) : scaled(v);
    any = true;
  }
  if (from_zero && !logarithmic) {
    low_ = std::min(low_, 0.0);
    high_ = std::max(high_, 0.0);
  }
  logarithmic_ ? log_ticks() : linear_ticks();
}

bool Axis::shows(double value) const {
  return std::isfinite(value) && std::abs(value) <= kLargest && (!logarithmic_ || value > 0);
}

double Axis::scaled(double value) const {
  return logarithmic_ ? std::log10(value) : value;
}

double Axis::at(double value) const {
  return shows(value) ? std::clamp((scaled(value) - low_) / (high_ - low_), 0.0, 1.0) : 0;
}

void Axis::linear_ticks() {
  const double size = std::max(std::abs(low_), std::abs(high_));
  if (high_ - low_ <= std::max(1e-12 * size, 1 / kLargest)) {
    const bool zero = size <= 1 / kLargest;
    high_ = zero ? 1 : high_ + 0.1 * size;
    low_ = zero ? 0 : low_ - 0.1 * size;
  }
  const double step = round_step(high_ - low_, 5);
  low_ = std::floor(low_ / step + 1e-9) * step;
  high_ = std::ceil(high_ / step - 1e-9) * step;
  const int largest = exponent_of(std::max(std::abs(low_), std::abs(high_)));
  const auto count = static_cast<int>(std::lround((high_ - low_) / step));
  for (int i = 0; i <= count; ++i)
    ticks_.push_back({static_cast<double>(i) / count,
                      linear_label(low_ + i * step, step, largest < -3 || largest > 5)});
}

void Axis::log_ticks() {
  struct Mark {
    int mantissa, exponent;
    double at() const { return std::log10(mantissa) + exponent; }
  };
  const bool fine = high_ - low_ < 1.6;
  std::vector<Mark> marks;
  for (int e = static_cast<int>(std::floor(low_)) - 1; e <= static_cast<int>(std::ceil(high_)) + 1;
       ++e)
    for (const int m : {1, 2, 5})
      if (fine || m == 1) marks.push_back({m, e});
  std::size_t first = 0, last = marks.size() - 1;
  while (marks[first + 1].at() <= low_ + 1e-9) ++first;
  while (marks[last - 1].at() >= high_ - 1e-9) --last;
  if (first == last) --first, ++last;
  low_ = marks[first].at();
  high_ = marks[last].at();
  const std::size_t stride = (last - first) / 7 + 1;
  for (std::size_t i = first; i <= last; i += stride)
    ticks_.push_back(
        {(marks[i].at() - low_) / (high_ - low_), log_label(marks[i].mantissa, marks[i].exponent)});
}

Frame::Frame(const Axis& y) {
  for (const Tick& t : y.ticks()) left = std::max(left, text_width(t.label) + 10);
}

std::string Frame::open(const std::string& title) const {
  return cat("<svg viewBox=\"0 0 ", px(width), " ", px(height), "\" role=\"img\" aria-label=\"",
             escape_html(title), "\">");
}

std::string Frame::y_axis(const Axis& axis, const std::string& name) const {
  std::string out = cat("<text x=\"0\" y=\"13\">", escape_html(name), "</text>");
  for (const Tick& t : axis.ticks())
    out += cat("<line class=\"grid\" x1=\"", px(left), "\" x2=\"", px(width - right), "\" y1=\"",
               px(y(t.at)), "\" y2=\"", px(y(t.at)), "\"/><text class=\"e\" x=\"", px(left - 8),
               "\" y=\"", px(y(t.at) + 4.5), "\">", t.label, "</text>");
  return out;
}

std::string Frame::x_axis(const Axis& axis, const std::string& name) const {
  std::string out = x_name(name);
  for (const Tick& t : axis.ticks()) out += x_label(x(t.at), t.label);
  return out;
}

std::string Frame::x_name(const std::string& name) const {
  return cat("<line class=\"axis\" x1=\"", px(left), "\" x2=\"", px(width - right), "\" y1=\"",
             px(y(0)), "\" y2=\"", px(y(0)), "\"/><text class=\"m\" x=\"", px((x(0) + x(1)) / 2),
             "\" y=\"", px(height - 5), "\">", escape_html(name), "</text>");
}

std::string Frame::x_label(double at, const std::string& label) const {
  return cat("<text class=\"m\" x=\"", px(at), "\" y=\"", px(y(0) + 18), "\">", escape_html(label),
             "</text>");
}

}  // namespace cupel::eval
