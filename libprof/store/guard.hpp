// What SQLite may do for a connection that has content of others.
//
// A database is data and code: its views, defaults, constraints and computed columns are SQL, which
// runs when somebody reads or fills what they belong to. A profile of gpuprof's or nvprof's needs
// next to nothing of that, so everything else is refused, and what is left may not go on for ever.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

struct sqlite3;

namespace gpuprof::store {

// Belongs to one connection, at a fixed address, and to its thread.
class Guard {
 public:
  enum class Content {
    ours,    // nothing is checked
    read,    // a file of others is open: it is read, and nothing is written but temporary tables
    copied,  // a file of ours takes in tables of others, with what their makers declared
  };

  Guard() = default;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // From now on. `bytes`: size of the file of others; no value in it is longer, and it says how
  // much work reading it may be.
  void protect(sqlite3* connection, Content content, std::int64_t bytes);
  Content content() const { return content_; }

  // Asked now and then while statements run; true ends them. Empty: no more.
  void watch(sqlite3* connection, std::function<bool()> stop);
  bool told_to_stop() const { return stop_ && stop_(); }
  // From now on SQL of the user's is run as well. `wholly`: WITH clauses may call functions and
  // recur; SQLite does not tell them from the file's views, so these must have been looked at.
  // `endless`: all may work as long as it takes, for the user can end it.
  void hear_user(sqlite3* connection, bool wholly, bool endless);
  // From now on no value is longer, whatever the user asks for.
  void limit_values(sqlite3* connection, std::int64_t bytes);
  bool limits_values() const { return limits_values_; }
  // A statement was ended because all of them together did more than reading the file can take.
  bool exhausted() const { return left_ <= 0; }

  // While it lives the connection may ATTACH.
  class Attaching {
   public:
    explicit Attaching(Guard& guard) : guard_(guard) { guard_.attaching_ = true; }
    ~Attaching() { guard_.attaching_ = false; }
    Attaching(const Attaching&) = delete;
    Attaching& operator=(const Attaching&) = delete;

   private:
    Guard& guard_;
  };

  // While it lives a statement may do nothing but SELECT.
  class Asking {
   public:
    explicit Asking(Guard& guard) : guard_(guard) { guard_.asking_ = true; }
    ~Asking() { guard_.asking_ = false; }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    Guard& guard_;
  };

  // While it lives a statement may make this table, index or view in the main database, and do
  // nothing else.
  class Making {
   public:
    Making(Guard& guard, std::string_view type, std::string_view name)
        : guard_(guard), type_(type), name_(name) {
      guard_.making_ = this;
    }
    ~Making() { guard_.making_ = nullptr; }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;
    bool asked() const { return asked_; }  // the statement makes it

   private:
    friend class Guard;
    bool allows(int action, std::string_view first, std::string_view second,
                std::string_view database);

    Guard& guard_;
    std::string type_, name_;
    bool asked_ = false;
  };

 private:
  bool allows(int action, const char* first, const char* second, const char* database,
              const char* cause) const;
  void set_progress(sqlite3* connection);

  Content content_ = Content::ours;
  bool attaching_ = false;
  bool asking_ = false;
  bool limits_values_ = false;
  bool user_ = false;
  Making* making_ = nullptr;
  std::int64_t left_ = 1;  // steps of SQLite's virtual machine
  std::function<bool()> stop_;
};

}  // namespace gpuprof::store
