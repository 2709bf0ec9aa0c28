// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/chat_template.h"

#include "base/error.h"
#include "text/jinja_parser.h"

namespace cupel::text {

struct Template::Impl {
  jinja::Block block;
  bool plain = false;
};

namespace {

std::string render_with(const jinja::Block& block, jinja::Dict context, bool strict) {
  jinja::Run run;
  run.strict = strict;
  std::string out;
  try {
    auto globals = std::make_shared<jinja::Scope>(nullptr);
    jinja::add_globals(*globals);
    for (auto& [name, value] : context.items) globals->set(name.as_string(), std::move(value));
    jinja::Frame frame{run, std::make_shared<jinja::Scope>(globals), &out};
    jinja::run_block(block, frame);
  } catch (const jinja::TemplateError& e) {
    if (e.kind.empty()) fail(Fault::user, "the template refuses what it was given: ", e.message);
    fail(Fault::data, "template: line ", run.line, ": ", e.kind, ": ", e.message);
  }
  return out;
}

}  // namespace

Template::Template(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

Template Template::parse(std::string_view source) {
  return Template(std::make_unique<Impl>(Impl{jinja::parse(source)}));
}

Template Template::parse_plain(std::string_view source) {
  return Template(std::make_unique<Impl>(Impl{jinja::parse(source, jinja::Dialect::plain), true}));
}

std::string Template::render(std::string_view context_json) const {
  return render(jinja::from_json(context_json));
}

std::string Template::render(const jinja::Dict& context) const {
  return render_with(impl_->block, context, impl_->plain);
}

std::string render_chat(const Template& chat, const std::vector<Message>& messages,
                        bool add_generation_prompt, std::string_view bos_token,
                        std::string_view eos_token) {
  using jinja::Dict, jinja::List, jinja::Value;
  List list;
  for (const Message& m : messages)
    list.items.push_back(
        Value(Dict{{{Value("role"), Value(m.role)}, {Value("content"), Value(m.content)}}}));
  Dict context{{{Value("messages"), Value(std::move(list))},
                {Value("add_generation_prompt"), Value(add_generation_prompt)},
                {Value("bos_token"), Value(bos_token)},
                {Value("eos_token"), Value(eos_token)}}};
  return chat.render(context);
}

}  // namespace cupel::text
