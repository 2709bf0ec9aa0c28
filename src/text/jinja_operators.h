// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

#include "text/jinja_value.h"

namespace cupel::text::jinja {

// Python's arithmetic: / gives a float, // and % round towards minus infinity, what does not fit
// raises TypeError. Integers have 64 bits: an overflow raises.
Value add(const Value& a, const Value& b);
Value subtract(const Value& a, const Value& b);
Value multiply(const Value& a, const Value& b);
Value divide(const Value& a, const Value& b);
Value floor_divide(const Value& a, const Value& b);
Value modulo(const Value& a, const Value& b);
Value power(const Value& a, const Value& b);
Value negate(const Value& a);
/// needle in haystack
bool contains(const Value& haystack, const Value& needle);

/// 'pattern' % values (a tuple or one value, or a dict for %(name)s)
std::string percent_format(const std::string& pattern, const Value& values);
/// 'pattern'.format(...)
std::string brace_format(const std::string& pattern, const Arguments& arguments);

/// Raises if a text or list of that many bytes or items is more than a template may make.
void check_size(double size);

}  // namespace cupel::text::jinja
