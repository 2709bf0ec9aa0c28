// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <map>
#include <string_view>

#include "text/jinja_library.h"

namespace cupel::text::jinja {

using FilterTable = std::map<std::string_view, Filter>;

void add_text_filters(FilterTable& table);
void add_list_filters(FilterTable& table);

/// How sort, groupby, map and others see an element: through a dotted path of attributes and
/// indices, with strings in lower case unless the case counts.
class KeyOf {
 public:
  /// `path` none is the element itself.
  KeyOf(const Value& path, bool case_counts, Value fallback = Value());
  Value operator()(const Value& element) const;

 private:
  std::vector<Value> path_;
  bool case_counts_;
  Value fallback_;
};

}  // namespace cupel::text::jinja
