// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/svg_axis.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "eval/html.h"

namespace cupel::eval {

namespace {

/// The round step (1, 2 or 5 times a power of ten) that cuts `span` into at most `most` pieces.
double round_step(double span, int most) {
  const double raw = span / most;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0, 10.0})
    if (m * power >= raw) return m * power;
  return 10 * power;
}

}  // namespace

std::string px(double value) { return fixed(std::isfinite(value) ? value : 0, 2); }

std::string tick_text(double value) {
  const double size = std::abs(value);
  if (value != 0 && (size < 1e-3 || size >= 1e6)) {
    const auto exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
    return cat(fixed(value / std::pow(10.0, exponent), 0), "e", exponent);
  }
  std::string text = fixed(value, size >= 100 ? 0 : size >= 1 ? 2 : 4);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

Axis::Axis(const std::vector<double>& values, bool logarithmic, bool from_zero) : logarithmic_(logarithmic) {
  bool any = false;
  for (const double v : values) {
    if (!std::isfinite(v) || (logarithmic && v <= 0)) continue;
    low_ = any ? std::min(low_, v) : v;
    high_ = any ? std::max(high_, v) : v;
    any = true;
  }
  if (!any) low_ = logarithmic ? 0.1 : 0, high_ = 1;
  if (from_zero && !logarithmic) low_ = std::min(low_, 0.0), high_ = std::max(high_, 0.0);
  logarithmic_ ? log_ticks() : linear_ticks();
}

void Axis::linear_ticks() {
  if (high_ - low_ <= 1e-12 * std::max(std::abs(low_), std::abs(high_))) {
    const double pad = low_ == 0 ? 1 : std::abs(low_) * 0.1;
    low_ -= pad;
    high_ += pad;
  }
  const double step = round_step(high_ - low_, 6);
  low_ = std::floor(low_ / step + 1e-9) * step;
  high_ = std::ceil(high_ / step - 1e-9) * step;
  const auto count = static_cast<int>(std::lround((high_ - low_) / step));
  for (int i = 0; i <= count; ++i) ticks_.push_back(low_ + i * step);
}

void Axis::log_ticks() {
  low_ = std::pow(10.0, std::floor(std::log10(low_) + 1e-9));
  high_ = std::pow(10.0, std::ceil(std::log10(high_) - 1e-9));
  if (high_ <= low_) high_ = low_ * 10;
  const auto decades = static_cast<int>(std::lround(std::log10(high_ / low_)));
  const int stride = decades / 9 + 1;
  for (int i = 0; i <= decades; i += stride) ticks_.push_back(low_ * std::pow(10.0, i));
}

double Axis::at(double value) const {
  if (!std::isfinite(value) || (logarithmic_ && value <= 0)) return 0;
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
  return std::clamp(share, 0.0, 1.0);
}

std::string Frame::open(const std::string& title) const {
  return cat("<svg viewBox=\"0 0 ", px(width), " ", px(height), "\" role=\"img\" aria-label=\"", escape_html(title),
             "\"><text class=\"title\" x=\"0\" y=\"14\">", escape_html(title), "</text>");
}

std::string Frame::y_axis(const Axis& axis, const std::string& name) const {
  std::string out;
  for (const double t : axis.ticks()) {
    const std::string at = px(y(axis.at(t)));
    out += cat("<line class=\"grid\" x1=\"", px(left), "\" x2=\"", px(width - right), "\" y1=\"", at, "\" y2=\"", at,
               "\"/><text x=\"", px(left - 8), "\" y=\"", px(y(axis.at(t)) + 4), "\" text-anchor=\"end\">", tick_text(t), "</text>");
  }
  const std::string middle = px((y(0) + y(1)) / 2);
  return out + cat("<text transform=\"rotate(-90 12 ", middle, ")\" x=\"12\" y=\"", middle, "\" text-anchor=\"middle\">",
                   escape_html(name), "</text>");
}

std::string Frame::x_axis(const Axis& axis, const std::string& name) const {
  std::string out = cat("<line class=\"axis\" x1=\"", px(left), "\" x2=\"", px(width - right), "\" y1=\"", px(y(0)), "\" y2=\"", px(y(0)), "\"/>");
  for (const double t : axis.ticks())
    out += cat("<text x=\"", px(x(axis.at(t))), "\" y=\"", px(y(0) + 17), "\" text-anchor=\"middle\">", tick_text(t), "</text>");
  return out + x_name(name);
}

std::string Frame::x_name(const std::string& name) const {
  return cat("<text x=\"", px((x(0) + x(1)) / 2), "\" y=\"", px(height - 8), "\" text-anchor=\"middle\">", escape_html(name), "</text>");
}

std::string Frame::legend(const std::vector<std::string>& names) const {
  std::string spans;
  for (std::size_t i = 0; i < names.size(); ++i)
    spans += cat("<tspan class=\"f", i % 4, "\">", i ? "\xE2\x80\x83" : "", escape_html(names[i]), "</tspan>");
  return cat("<text x=\"", px(width - right), "\" y=\"14\" text-anchor=\"end\">", spans, "</text>");
}

}  // namespace cupel::eval
