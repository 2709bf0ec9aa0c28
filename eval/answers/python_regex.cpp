// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "eval/answers/python_regex.h"

#include <pcre2.h>

#include "base/error.h"

namespace cupel::eval {
namespace {

constexpr uint32_t kMatchLimit = 20'000'000;     // steps of one match
constexpr uint32_t kHeapLimitKib = 256u << 10;   // backtracking memory of one match
constexpr std::size_t kJitStackBytes = 8 << 20;  // what a greedy repeat over a long reply needs

// Context and stack of one thread, made on first use.
struct Scratch {
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr);
  Scratch() {
    CUPEL_CHECK(context, environment, "out of memory");
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
    if (stack) pcre2_jit_stack_assign(context, nullptr, stack);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (stack) pcre2_jit_stack_free(stack);
    pcre2_match_context_free(context);
  }
};

std::string pcre_message(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

struct CompileContext {
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  CompileContext() {
    CUPEL_CHECK(context, environment, "out of memory");
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  }
  CompileContext(const CompileContext&) = delete;
  CompileContext& operator=(const CompileContext&) = delete;
  ~CompileContext() { pcre2_compile_context_free(context); }
};

}  // namespace

struct PythonRegex::Impl {
  std::string pattern;
  pcre2_code* code = nullptr;
  uint32_t groups = 0;
  ~Impl() { pcre2_code_free(code); }

  // False if there is no match; `options` as pcre2_match takes them.
  bool run(std::string_view text, std::size_t offset, uint32_t options, Match& match) const {
    thread_local Scratch scratch;
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(
        pcre2_match_data_create(groups + 1, nullptr), pcre2_match_data_free);
    CUPEL_CHECK(data, environment, "out of memory");
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    options |= PCRE2_NO_UTF_CHECK;
    int rc = pcre2_match(code, subject, text.size(), offset, options, data.get(), scratch.context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
      rc = pcre2_match(code, subject, text.size(), offset, options | PCRE2_NO_JIT, data.get(),
                       scratch.context);
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    if (rc < 0)
      fail(Fault::data, "pattern '", pattern, "' gave up at byte ", offset, " of a text of ",
           text.size(), " bytes: ", pcre_message(rc));
    const PCRE2_SIZE* spans = pcre2_get_ovector_pointer(data.get());
    match.assign(groups + 1, Span{});
    for (int i = 0; i < rc; ++i)
      if (spans[2 * i] != PCRE2_UNSET) match[i] = {spans[2 * i], spans[2 * i + 1]};
    return true;
  }
};

PythonRegex::PythonRegex(const std::string& pattern, unsigned flags)
    : impl_(std::make_unique<Impl>()) {
  impl_->pattern = pattern;
  const std::string ours = python_to_pcre(pattern, flags);
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | PCRE2_ALT_CIRCUMFLEX;
  if (flags & ignore_case) options |= PCRE2_CASELESS;
  if (flags & multiline) options |= PCRE2_MULTILINE;
  if (flags & dot_all) options |= PCRE2_DOTALL;
  const CompileContext context;
  int error = 0;
  PCRE2_SIZE at = 0;
  impl_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(ours.data()), ours.size(), options,
                              &error, &at, context.context);
  if (!impl_->code)
    fail(Fault::user, "pattern '", pattern, "' is not valid: ", pcre_message(error));
  pcre2_jit_compile(impl_->code, PCRE2_JIT_COMPLETE);  // without it pcre2_match interprets
  pcre2_pattern_info(impl_->code, PCRE2_INFO_CAPTURECOUNT, &impl_->groups);
}

PythonRegex::PythonRegex(PythonRegex&&) noexcept = default;
PythonRegex& PythonRegex::operator=(PythonRegex&&) noexcept = default;
PythonRegex::~PythonRegex() = default;

std::size_t PythonRegex::groups() const {
  return impl_->groups;
}

bool PythonRegex::search(std::string_view text) const {
  Match match;
  return impl_->run(text, 0, 0, match);
}

PythonRegex::Match PythonRegex::match_at(std::string_view text, std::size_t offset) const {
  Match match;
  if (!impl_->run(text, offset, PCRE2_ANCHORED, match)) match.clear();
  return match;
}

void PythonRegex::each(std::string_view text, Found found) const {
  Match match;
  std::size_t offset = 0;
  uint32_t options = 0;
  // Behind an empty match the next one must not be empty at the same place (Python 3.7 and newer).
  while (offset <= text.size() && impl_->run(text, offset, options, match)) {
    found(match);
    offset = match[0].end;
    options = match[0].start == match[0].end ? PCRE2_NOTEMPTY_ATSTART : 0;
  }
}

std::size_t PythonRegex::count(std::string_view text) const {
  std::size_t n = 0;
  each(text, [&](const Match&) { ++n; });
  return n;
}

std::string PythonRegex::replace(std::string_view text, std::string_view by) const {
  std::string out;
  std::size_t done = 0;
  each(text, [&](const Match& match) {
    out += text.substr(done, match[0].start - done);
    done = match[0].end;
    for (std::size_t i = 0; i < by.size(); ++i) {
      if (by[i] != '\\') {
        out += by[i];
        continue;
      }
      const bool whole = by.substr(i, 5) == "\\g<0>";
      const std::size_t group = whole               ? 0
                                : i + 1 < by.size() ? static_cast<std::size_t>(by[i + 1] - '0')
                                                    : 10;
      CUPEL_CHECK(group < match.size() && (whole || group > 0), internal, "replacement '", by,
                  "' of pattern '", impl_->pattern, "'");
      out += match[group].of(text);
      i += whole ? 4 : 1;
    }
  });
  out += text.substr(done);
  return out;
}

std::vector<std::string_view> PythonRegex::split(std::string_view text) const {
  CUPEL_CHECK(groups() == 0, internal, "split by a pattern with groups: '", impl_->pattern, "'");
  std::vector<std::string_view> out;
  std::size_t done = 0;
  each(text, [&](const Match& match) {
    out.push_back(text.substr(done, match[0].start - done));
    done = match[0].end;
  });
  out.push_back(text.substr(done));
  return out;
}

}  // namespace cupel::eval
