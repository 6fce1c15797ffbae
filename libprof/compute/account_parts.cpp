#include "libprof/compute/account_parts.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"

namespace gpuprof::compute {

void AccountPart::bind(store::Statement& insert, int first) const {
  const bool in_function = is_of_function();
  insert.bind(first, what);
  insert.bind(first + 1, !in_function          ? std::string_view(place)
                         : is_of_driver(cause) ? "driver"
                                               : "runtime");
  insert.bind(first + 2, in_function ? cbid_of(cause) : cause);
  insert.bind(first + 3, duration).bind(first + 4, intervals);
}

std::optional<AccountPart> AccountPart::read(const store::Statement& row, int first) {
  const auto known = std::ranges::find(classes, row.text(first));
  if (known == classes.end()) return std::nullopt;
  AccountPart part{.what = *known,
                   .cause = row.integer(first + 2),
                   .duration = row.integer(first + 3),
                   .intervals = row.integer(first + 4)};
  if (part.duration < 0) return std::nullopt;
  if (part.what == "no call") part.place = row.text(first + 1);
  if (part.is_of_function()) {
    part.cause = function_number(row.text(first + 1) == "driver", part.cause);
  }
  return part;
}

void AccountSum::add(const AccountPart& part) {
  const auto place = std::ranges::find(AccountPart::classes, part.what);
  const auto rank = static_cast<std::size_t>(place - AccountPart::classes.begin());
  const auto [its, is_new] = parts_.try_emplace({rank, part.cause, part.place}, part);
  if (is_new) return;
  AccountPart& sum = its->second;
  sum.duration = saturating_add(sum.duration, part.duration);
  sum.intervals = saturating_add(sum.intervals, part.intervals);
}

std::vector<AccountPart> AccountSum::parts() const {
  std::vector<AccountPart> parts;
  for (const auto& [key, part] : parts_) parts.push_back(part);
  return parts;
}

}  // namespace gpuprof::compute
