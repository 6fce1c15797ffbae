// A part that callbacks use while it is present. Only one thread at a time may put or remove it;
// any thread may use it, without taking a lock.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace gpuprof::collect {

template <class Part>
class Removable {
 public:
  // The part stays alive while this exists. False: there is none.
  class Use {
   public:
    explicit Use(Removable& from) {
      if (!from.there()) return;
      from.users_.fetch_add(1);
      part_ = from.part_.load();
      part_ ? void(users_ = &from.users_) : void(from.users_.fetch_sub(1));
    }
    ~Use() {
      if (users_) users_->fetch_sub(1);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    explicit operator bool() const { return part_ != nullptr; }
    Part* operator->() const { return part_; }

   private:
    Part* part_ = nullptr;
    std::atomic<int>* users_ = nullptr;
  };

  bool there() const { return part_.load(std::memory_order_relaxed) != nullptr; }
  Use use() { return Use(*this); }

  void put(std::unique_ptr<Part> part) {
    remove(std::chrono::milliseconds{0});
    owned_ = std::move(part);
    part_.store(owned_.get());
  }

  // Waits for its users, no longer than `patience`. If it is still in use then, or if `held`
  // returns true, it is kept forever.
  void remove(std::chrono::milliseconds patience, bool (Part::*held)() const = nullptr) {
    part_.store(nullptr);
    const auto until = std::chrono::steady_clock::now() + patience;
    while (users_.load() > 0 && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (users_.load() > 0) return keep();
    if (owned_ && held && ((*owned_).*held)()) return keep();
    owned_.reset();
  }
  // Removes it, but never destroys it.
  void keep() {
    part_.store(nullptr);
    if (owned_) kept_.push_back(std::move(owned_));
  }

 private:
  std::atomic<Part*> part_{nullptr};
  std::atomic<int> users_{0};
  std::unique_ptr<Part> owned_;
  std::vector<std::unique_ptr<Part>> kept_;
};

}  // namespace gpuprof::collect
