// What SQLite may do for a connection that has content of others.
//
// A database is data and code: its views, defaults, constraints and computed columns are SQL, which
// runs when somebody reads or fills what they belong to. A profile of gpuprof's or nvprof's needs
// next to nothing of that, so everything else is refused, and what is left may not go on for ever.
// What a user asks has the same limits, but for the time: the user can end it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

struct sqlite3;
struct sqlite3_stmt;

namespace gpuprof::store {

// Most of what SQLite may have allocated in this process, for all connections. Only less than
// before counts; files that are opened later do not raise it.
void limit_memory(std::int64_t bytes);

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
  // much work reading it may be, and how much memory SQLite may have for that in this process.
  void protect(sqlite3* connection, Content content, std::int64_t bytes);
  Content content() const { return content_; }

  // Asked now and then while statements run; true ends them. Empty: no more.
  void watch(sqlite3* connection, std::function<bool()> stop);
  bool told_to_stop() const { return stop_ && stop_(); }
  // From now on SQL of the user's is run as well. `wholly`: WITH clauses may call functions and
  // recur; SQLite does not tell them from the file's views, so these must have been looked at.
  // `endless`: all may work as long as it takes, for the user can end it.
  void hear_user(bool wholly, bool endless);
  // A statement was ended because all of them together did more than reading the file can take.
  bool exhausted() const { return left_ <= 0 || left_ns_ <= 0; }

  // Around the preparing of a statement; null: SQLite did not take it.
  void prepares();
  void has_prepared(const sqlite3_stmt* statement);
  // It is about to run. What computes something a view says, or the user, has a limit for values;
  // other statements read what is long as it is stored.
  void runs(sqlite3* connection, const sqlite3_stmt* statement) {
    if (content_ == Content::ours) return;
    const int length = of_others_.contains(statement) ? longest_of_others_ : longest_;
    if (length != length_) limit_length(connection, length);
  }
  void forgets(const sqlite3_stmt* statement) { of_others_.erase(statement); }
  bool of_others_runs() const { return length_ != longest_; }
  // Whether the user has asked something: what goes wrong then need not be the file's fault.
  bool hears_user() const { return hears_; }

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
  void limit_length(sqlite3* connection, int bytes);
  bool go_on();

  Content content_ = Content::ours;
  bool attaching_ = false;
  bool asking_ = false;
  bool user_ = false;
  bool hears_ = false;
  bool has_view_ = false;  // what is being prepared
  std::unordered_set<const sqlite3_stmt*> of_others_;
  Making* making_ = nullptr;
  int longest_ = 0, longest_of_others_ = 0;  // bytes of a value
  int length_ = 0;                           // the limit as it is now
  std::int64_t left_ = 1;                    // steps of SQLite's virtual machine
  std::int64_t left_ns_ = 1;                 // of the thread's time
  std::int64_t before_ns_ = 0;               // that time when it was looked at last
  std::function<bool()> stop_;
};

}  // namespace gpuprof::store
