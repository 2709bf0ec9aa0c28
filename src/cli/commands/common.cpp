// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#include "cli/commands/common.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

namespace cupel::cli {

namespace fs = std::filesystem;

int guarded(const CommonOptions& common, const std::function<int()>& command) {
  log::set_level(common.quiet     ? log::Level::quiet
                 : common.verbose ? log::Level::verbose
                                  : log::Level::normal);
  try {
    const int code = command();
    CUPEL_CHECK(std::fflush(stdout) == 0, environment, "writing to standard output failed");
    return code;
  } catch (const Error& e) {
    std::fprintf(stderr, "cupel: %s\n", e.what());
    return static_cast<int>(e.fault());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "cupel: out of memory\n");
    return static_cast<int>(Fault::environment);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cupel: %s\n(this is a bug of Cupel)\n", e.what());
    return static_cast<int>(Fault::internal);
  }
}

void print_out(std::string_view text) {
  CUPEL_CHECK(std::fwrite(text.data(), 1, text.size(), stdout) == text.size(), environment,
              "writing to standard output failed");
}

std::shared_ptr<const runtime::Model> open_runtime(const CommonOptions& common,
                                                   const RuntimeOptions& options) {
  CUPEL_CHECK(common.device == "auto" || common.device == "cpu", user, "the runtime has no '",
              common.device, "' kernels in this build; use --device cpu");
  runtime::LoadOptions load;
  load.isa = kernels::isa_from_name(common.isa);
  CUPEL_CHECK(options.activations == "exact" || options.activations == "int8", user,
              "--activations must be exact or int8, not '", options.activations, "'");
  load.activations =
      options.activations == "int8" ? runtime::Activations::int8 : runtime::Activations::exact;
  return runtime::Model::open(options.model, load);
}

runtime::SessionOptions session_options(const CommonOptions& common,
                                        const RuntimeOptions& options) {
  runtime::SessionOptions session;
  session.threads = common.threads;
  session.context = options.context;
  session.kv = in_frame("reading --kv", [&] { return kernels::kv_type_from_name(options.kv); });
  return session;
}

namespace {

std::string toolkit_path() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) return "";
  for (const fs::path& place :
       {self.parent_path() / "cupel-toolkit",
        self.parent_path().parent_path() / "libexec" / "cupel" / "cupel-toolkit"})
    if (access(place.c_str(), X_OK) == 0) return place.string();
  return "";
}

}  // namespace

bool toolkit_is_there() {
  return !toolkit_path().empty();
}

void exec_toolkit(char** argv) {
  const std::string path = toolkit_path();
  CUPEL_CHECK(!path.empty(), environment, "'", argv[1],
              "' needs cupel-toolkit, which is not installed beside cupel (it is built when "
              "LibTorch is there)");
  argv[0] = const_cast<char*>(path.c_str());
  execv(path.c_str(), argv);
  fail(Fault::environment, "can't start '", path, "'");
}

std::string text_argument(const std::string& value) {
  if (value == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  return value.starts_with("@") ? read_text(value.substr(1)) : value;
}

std::vector<text::Token> parse_ids(const std::string& text) {
  std::vector<text::Token> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    text::Token id = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, id);
    CUPEL_CHECK(error == std::errc() && stop == text.data() + end, user, "--ids: '",
                text.substr(at, end - at), "' is not a token id");
    out.push_back(id);
    at = end + 1;
  }
  return out;
}

}  // namespace cupel::cli
