// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cupel::text {

namespace jinja {
struct Dict;
}

struct Message {
  std::string role;  ///< system, user, assistant
  std::string content;
};

/// A chat template in the Jinja subset that models use (namespaces, macros, loop controls,
/// whitespace control, filters, tests), in Hugging Face's environment (trim_blocks, lstrip_blocks;
/// tojson, strftime_now, raise_exception). Limits on depth, output size and steps; what it does not
/// know is an error that names it, never a fallback.
class Template {
 public:
  /// Fault::data with line number for text that does not parse or uses an unknown construct.
  static Template parse(std::string_view source);
  /// The same for a template of an evaluation task: white space stays as it is, and printing
  /// something undefined is an error (Jinja's plain environment with StrictUndefined).
  static Template parse_plain(std::string_view source);
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;
  ~Template();

  /// Renders with the variables of a JSON object.
  std::string render(std::string_view context_json) const;
  /// Renders with these variables.
  std::string render(const jinja::Dict& context) const;

 private:
  struct Impl;
  explicit Template(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The prompt of a conversation: the template rendered with messages, bos_token, eos_token and
/// add_generation_prompt.
std::string render_chat(const Template& chat, const std::vector<Message>& messages,
                        bool add_generation_prompt, std::string_view bos_token,
                        std::string_view eos_token);

}  // namespace cupel::text
