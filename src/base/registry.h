// SPDX-License-Identifier: Apache-2.0
// Copyright the Cupel authors
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/params.h"
#include "base/yaml.h"

namespace cupel {

/// A list of named implementations of one interface, filled by an ordinary function per module
/// (self-registering statics are dropped by the linker). `T` is constructed from its parameters.
template <class Interface>
class Registry {
 public:
  struct Entry {
    std::string name;
    std::string doc;
    std::function<std::shared_ptr<Params>()> params;
    std::function<std::unique_ptr<Interface>(std::shared_ptr<Params>)> make;
  };

  /// `T` must have a nested `Parameters` (a Params) and a constructor from `const Parameters&`.
  template <class T>
  void add(std::string name, std::string doc) {
    using P = typename T::Parameters;
    entries_.push_back({std::move(name), std::move(doc), [] { return std::make_shared<P>(); },
                        [](std::shared_ptr<Params> p) -> std::unique_ptr<Interface> {
                          return std::make_unique<T>(dynamic_cast<const P&>(*p));
                        }});
  }

  const std::vector<Entry>& entries() const { return entries_; }

  const Entry& at(std::string_view name) const {
    for (const Entry& e : entries_)
      if (e.name == name) return e;
    std::vector<std::string> names;
    for (const Entry& e : entries_) names.push_back(e.name);
    const std::string near = nearest_name(name, names);
    fail(Fault::user, "unknown method '", name, "'",
         near.empty() ? "" : cat("; did you mean '", near, "'?"), " (known: ", joined(names), ")");
  }

 private:
  std::vector<Entry> entries_;
};

}  // namespace cupel
