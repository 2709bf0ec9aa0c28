// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "text/regex.h"

#include <pcre2.h>

#include <algorithm>

#include "base/error.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace cupel::text {
namespace {

constexpr uint32_t kMatchLimit = 20'000'000;  // steps of one match
// Most patterns need a few hundred bytes, whatever the length of the text.
constexpr std::size_t kJitStackBytes = 8 << 20;

// Match data and stack of one thread, made on first use.
struct Scratch {
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr);
  Scratch() {
    CUPEL_CHECK(context && data, environment, "out of memory");
    pcre2_set_match_limit(context, kMatchLimit);
    if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (stack) pcre2_jit_stack_free(stack);
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
};

Scratch& scratch() {
  thread_local Scratch s;
  return s;
}

std::string pcre_message(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Regex::Impl {
  std::string pattern;
  pcre2_code* code = nullptr;
  bool jit = false;
  bool uses_properties = false;  // then the text's newer characters are replaced first
  ~Impl() { pcre2_code_free(code); }

  // False if there is no match at or behind `offset`.
  bool search(std::string_view text, std::size_t offset, std::size_t& start,
              std::size_t& end) const {
    Scratch& s = scratch();
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    const int rc = jit ? pcre2_jit_match(code, subject, text.size(), offset, 0, s.data, s.context)
                       : pcre2_match(code, subject, text.size(), offset, PCRE2_NO_UTF_CHECK, s.data,
                                     s.context);
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    if (rc < 0)
      fail(Fault::data, "tokenizer: pattern '", pattern, "' gave up at byte ", offset,
           " of the text: ", pcre_message(rc));
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(s.data);
    start = span[0];
    end = std::max(span[0], span[1]);
    return true;
  }
};

Regex::Regex(const std::string& pattern) : impl_(std::make_unique<Impl>()) {
  impl_->pattern = pattern;
  const std::string ours = onig_to_pcre(pattern);
  int error = 0;
  PCRE2_SIZE at = 0;
  impl_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(ours.data()), ours.size(),
                              PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                              &error, &at, nullptr);
  if (!impl_->code)
    fail(Fault::data, "tokenizer: pattern '", pattern, "' is not valid: ", pcre_message(error),
         " at ", at);
  std::size_t jit_bytes = 0;
  impl_->jit = pcre2_jit_compile(impl_->code, PCRE2_JIT_COMPLETE) == 0 &&
               pcre2_pattern_info(impl_->code, PCRE2_INFO_JITSIZE, &jit_bytes) == 0 &&
               jit_bytes > 0;
  for (const char* property : {"\\p", "\\P", "\\s", "\\S", "\\w", "\\W", "[:"})
    impl_->uses_properties |= ours.find(property) != std::string::npos;
}

Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

void Regex::each(std::string_view text, Found found) const {
  std::string buffer;
  if (impl_->uses_properties) text = with_known_characters(text, buffer);
  std::size_t offset = 0, start = 0, end = 0, previous_end = std::string_view::npos;
  while (offset <= text.size() && impl_->search(text, offset, start, end)) {
    if (start == end &&
        end == previous_end) {  // an empty match right behind the last one does not count
      if (offset >= text.size()) break;
      offset += utf8_length(text[offset]);
      continue;
    }
    found(start, end);
    offset = previous_end = end;
  }
}

}  // namespace cupel::text
