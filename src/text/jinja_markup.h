// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <string>

#include "text/jinja_value.h"

// Texts that are marked as HTML, as Python's markupsafe has them: chat templates have no HTML, but
// `'a'|safe + x` escapes x all the same.
namespace cupel::text::jinja {

/// & < > and quotes as entities.
std::string escaped(const std::string& s);
/// The text of `v`, escaped unless it is marked already.
std::string markup_of(const Value& v);
/// `text`, marked if `like` is.
Value marked_like(const Value& like, std::string text);
/// What a method of a marked text gives: the strings in `result` are marked.
Value marked(const Value& result);
/// What % or format put into a marked text: a value, those of a tuple or those of a dict, as
/// escaped texts; numbers stay numbers.
Value escaped_arguments(const Value& v);
/// What join puts between marked texts.
Value escaped_items(const Value& v);

}  // namespace cupel::text::jinja
