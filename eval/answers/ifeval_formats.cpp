// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
// IFEval: formats, content, start and end, combinations, punctuation.
#include <algorithm>

#include "base/cat.h"
#include "eval/answers/ifeval_checks.h"
#include "eval/answers/json_check.h"
#include "eval/answers/python_regex.h"
#include "eval/answers/python_text.h"

namespace cupel::eval {
namespace {

using Arguments = IfevalArguments;
using Models = IfevalModels;

std::shared_ptr<PythonRegex> regex(const std::string& pattern, unsigned flags = 0) {
  return std::make_shared<PythonRegex>(pattern, flags);
}

IfevalCheck number_placeholders(Arguments& a, const Models&) {
  return [brackets = regex("\\[.*?\\]"), wanted = a.count("num_placeholders")](
             const std::string& reply) { return brackets->count(reply) >= wanted; };
}

IfevalCheck postscript(Arguments& a, const Models&) {
  const std::string marker(strip(a.text("postscript_marker")));
  const std::string pattern = marker == "P.P.S"  ? "\\s*p\\.\\s?p\\.\\s?s.*$"
                              : marker == "P.S." ? "\\s*p\\.\\s?s\\..*$"
                                                 : cat("\\s*", lower_text(marker), ".*$");
  return [found = regex(pattern, PythonRegex::multiline)](const std::string& reply) {
    return found->search(lower_text(reply));
  };
}

IfevalCheck bullet_lists(Arguments& a, const Models&) {
  return [stars = regex("^\\s*\\*[^\\*].*$", PythonRegex::multiline),
          dashes = regex("^\\s*-.*$", PythonRegex::multiline),
          wanted = a.count("num_bullets")](const std::string& reply) {
    return stars->count(reply) + dashes->count(reply) == wanted;
  };
}

IfevalCheck constrained_response(Arguments&, const Models&) {
  return [](const std::string& reply) {
    return reply.find("My answer is yes.") != std::string::npos ||
           reply.find("My answer is no.") != std::string::npos ||
           reply.find("My answer is maybe.") != std::string::npos;
  };
}

IfevalCheck highlighted_sections(Arguments& a, const Models&) {
  return [single = regex("\\*[^\\n\\*]*\\*"), twice = regex("\\*\\*[^\\n\\*]*\\*\\*"),
          wanted = a.count("num_highlights")](const std::string& reply) {
    std::size_t count = 0;
    single->each(reply, [&](const PythonRegex::Match& m) {
      count += !strip(strip_any(m[0].of(reply), "*")).empty();
    });
    twice->each(reply, [&](const PythonRegex::Match& m) {
      const auto marked = m[0].of(reply);
      count += !strip(marked.substr(2, marked.size() - 4)).empty();
    });
    return count >= wanted;
  };
}

IfevalCheck multiple_sections(Arguments& a, const Models&) {
  const std::string splitter(strip(a.text("section_spliter")));
  return [heading = regex(cat("\\s?", splitter, "\\s?\\d+\\s?")), wanted = a.count("num_sections")](
             const std::string& reply) { return heading->count(reply) >= wanted; };
}

IfevalCheck json_format(Arguments&, const Models&) {
  return [](const std::string& reply) {
    std::string_view s = strip(reply);
    for (const std::string_view mark : {"```json", "```Json", "```JSON", "```"})
      if (s.starts_with(mark)) s.remove_prefix(mark.size());
    if (s.ends_with("```")) s.remove_suffix(3);
    return python_loads(strip(s));
  };
}

IfevalCheck title(Arguments&, const Models&) {
  return [found = regex("<<[^\\n]+>>")](const std::string& reply) {
    bool any = false;
    found->each(reply, [&](const PythonRegex::Match& m) {
      auto s = m[0].of(reply);
      while (s.starts_with('<')) s.remove_prefix(1);
      while (s.ends_with('>')) s.remove_suffix(1);
      any |= !strip(s).empty();
    });
    return any;
  };
}

IfevalCheck two_responses(Arguments&, const Models&) {
  return [](const std::string& reply) {
    const auto parts = split_at(reply, "******");
    std::vector<std::string_view> filled;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (const auto part = strip(parts[i]); !part.empty())
        filled.push_back(part);
      else if (i != 0 && i + 1 != parts.size())
        return false;
    }
    return filled.size() == 2 && filled[0] != filled[1];
  };
}

IfevalCheck repeat_prompt(Arguments& a, const Models&) {
  return [wanted = lower_text(strip(a.text("prompt_to_repeat")))](const std::string& reply) {
    return lower_text(strip(reply)).starts_with(wanted);
  };
}

IfevalCheck end_checker(Arguments& a, const Models&) {
  return [wanted = lower_text(strip(a.text("end_phrase")))](const std::string& reply) {
    return lower_text(strip_any(strip(reply), "\"")).ends_with(wanted);
  };
}

IfevalCheck no_comma(Arguments&, const Models&) {
  return [](const std::string& reply) { return reply.find(',') == std::string::npos; };
}

IfevalCheck quotation(Arguments&, const Models&) {
  return [](const std::string& reply) {
    const auto s = strip(reply);
    return s.size() > 1 && s.front() == '"' && s.back() == '"';
  };
}

}  // namespace

const std::map<std::string, IfevalMaker>& ifeval_format_checks() {
  static const std::map<std::string, IfevalMaker> makers = {
      {"detectable_content:number_placeholders", number_placeholders},
      {"detectable_content:postscript", postscript},
      {"detectable_format:number_bullet_lists", bullet_lists},
      {"detectable_format:constrained_response", constrained_response},
      {"detectable_format:number_highlighted_sections", highlighted_sections},
      {"detectable_format:multiple_sections", multiple_sections},
      {"detectable_format:json_format", json_format},
      {"detectable_format:title", title},
      {"combination:two_responses", two_responses},
      {"combination:repeat_prompt", repeat_prompt},
      {"startend:end_checker", end_checker},
      {"startend:quotation", quotation},
      {"punctuation:no_comma", no_comma},
  };
  return makers;
}

}  // namespace cupel::eval
