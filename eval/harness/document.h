// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_value.h"

namespace cupel::eval {

/// A row of a data file: names to values, in the file's order.
using Row = text::jinja::Dict;

/// Rows of `path`: .jsonl (an object a line; blank lines are skipped), .json (a list of objects) or
/// .csv (RFC 4180, the first row names the columns, every value is text); each also with .gz
/// behind. Fault::data names file and line of what is not a row, Fault::user an ending that is not
/// known.
std::vector<Row> read_documents(const std::string& path);
/// The same for the bytes of such a file; `name` gives the kind by its ending.
std::vector<Row> parse_documents(std::string_view bytes, const std::string& name);

/// The value at a dotted path ("choices.text"), null when a part of it is not there.
const text::jinja::Value* field(const Row& document, std::string_view path);
/// The values of a list field or of a rendered JSON list as texts.
std::vector<std::string> texts_of(const text::jinja::Value& list);

/// A file of tasks below `folder`: as given, below eval/, or by its last name alone. Fault::user
/// lists what was tried.
std::string find_data(const std::string& folder, const std::string& file);

}  // namespace cupel::eval
