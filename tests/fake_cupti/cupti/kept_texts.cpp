#include "tests/fake_cupti/cupti/kept_texts.hpp"

#include <mutex>
#include <set>
#include <string>

namespace fake {

const char* kept(const char* text) {
  static std::mutex mutex;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return texts->insert(text).first->c_str();
}

}  // namespace fake
