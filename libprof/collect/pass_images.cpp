#include "libprof/collect/pass_images.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <utility>

#include "libprof/base/whole.hpp"

namespace gpuprof::collect {
namespace {

std::uint64_t print_of(const wire::MeasuredRange& row, const std::vector<std::string>& names) {
  std::uint64_t print = row.name > 0 ? std::hash<std::string>()(names[row.name - 1]) : 0;
  const auto mix = [&](std::uint64_t part) { print = (print ^ part) * 0x9e3779b97f4a7c15u; };
  mix(row.ordinal);
  for (const std::uint32_t part : row.grid) mix(part);
  for (const std::uint32_t part : row.block) mix(part);
  return print | 1;
}

}  // namespace

std::string PassImages::file(const wire::CollectGroup& group, std::uint32_t pass) const {
  return folder_ + "/" + std::to_string(group.id) + "-" + std::to_string(context_) + "-" +
         std::to_string(window_) + "-" + std::to_string(pass);
}

bool PassImages::load(const wire::CollectGroup& group, std::vector<std::uint8_t>& image) {
  const int from = open(file(group, group.pass - 1).c_str(), O_RDONLY | O_CLOEXEC);
  const bool there = from >= 0 && read_whole(from, std::as_writable_bytes(std::span(image)), 0);
  prints_.clear();
  std::uint64_t at = image.size();
  std::uint64_t print = 0;
  while (there && read_whole(from, std::as_writable_bytes(std::span(&print, 1)), at)) {
    prints_.push_back(print);
    at += sizeof print;
  }
  if (from >= 0) close(from);
  return there;
}

void PassImages::compare(const wire::CollectGroup& group, std::span<const wire::MeasuredRange> rows,
                         const std::vector<std::string>& names) {
  std::vector<std::uint64_t> prints;
  for (const wire::MeasuredRange& row : rows) {
    const std::uint64_t print = print_of(row, names);
    const bool same =
        group.pass == 0 || (prints.size() < prints_.size() && prints_[prints.size()] == print);
    prints.push_back(same ? print : other_);
  }
  prints_ = std::move(prints);
}

bool PassImages::save(const wire::CollectGroup& group, const std::vector<std::uint8_t>& image) {
  const int to =
      open(file(group, group.pass).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (to < 0) return false;
  const bool written = write_whole(to, std::as_bytes(std::span(image)), 0) &&
                       write_whole(to, std::as_bytes(std::span(prints_)), image.size());
  close(to);
  if (group.pass > 1) unlink(file(group, group.pass - 2).c_str());
  return written;
}

}  // namespace gpuprof::collect
