// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/post_processor.h"

#include "base/error.h"

namespace cupel::text {
namespace {

void append_ids(const Part& part, const std::string& name, std::vector<Token>& out) {
  const Part tokens = part.child("special_tokens");
  if (!tokens.has(name.c_str())) tokens.refuse(cat("'", name, "' is missing"));
  for (const int64_t id : tokens.child(name.c_str()).integers("ids"))
    out.push_back(static_cast<Token>(id));
}

Surround read_template(const Part& part) {
  part.known({"single", "pair", "special_tokens"});
  Surround out;
  int texts = 0;
  for (const Part& item : part.list("single")) {
    if (item.has("SpecialToken")) {
      append_ids(part, item.child("SpecialToken").text("id"), texts ? out.after : out.before);
    } else if (item.has("Sequence") && item.child("Sequence").text("id") == "A") {
      ++texts;
    } else {
      item.refuse("must be a special token or sequence A");
    }
  }
  if (texts != 1) part.refuse(cat("'single' must hold sequence A once, not ", texts, " times"));
  return out;
}

Surround read_pair(const Part& part) {
  part.known({"sep", "cls", "trim_offsets", "add_prefix_space"});
  const auto id = [&](const char* key) {
    const auto pair = part.list(key);
    if (pair.size() != 2) part.refuse(cat("'", key, "' must be [text, id]"));
    return static_cast<Token>(pair[1].as_integer());
  };
  return {{id("cls")}, {id("sep")}};
}

}  // namespace

Surround read_post_processor(const Part& part) {
  const std::string type = part.type();
  if (type == "TemplateProcessing") return read_template(part);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_pair(part);
  if (type == "ByteLevel") {  // moves offsets only
    part.known({"add_prefix_space", "trim_offsets", "use_regex"});
    return {};
  }
  if (type != "Sequence") part.unknown_type();
  part.known({"processors"});
  Surround out;
  for (const Part& step : part.list("processors")) {
    const Surround s = read_post_processor(step);
    out.before.insert(out.before.begin(), s.before.begin(), s.before.end());
    out.after.insert(out.after.end(), s.after.begin(), s.after.end());
  }
  return out;
}

}  // namespace cupel::text
