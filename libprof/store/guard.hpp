// Limits what SQLite may do on a connection to foreign content.
//
// A database is data and code: its views, defaults, constraints and computed columns are SQL that
// runs when someone reads or fills the tables. A gpuprof or nvprof profile needs almost none of
// that, so everything else is refused, and what remains may not run forever. A user's query has the
// same limits, except for time, because the user can stop it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

struct sqlite3;
struct sqlite3_stmt;

namespace gpuprof::store {

// Upper limit on SQLite's memory in this process, for all connections. It can only be lowered;
// files opened later do not raise it.
void limit_memory(std::int64_t bytes);

// Belongs to one connection and its thread; must not move.
class Guard {
 public:
  enum class Content {
    ours,    // nothing is checked
    read,    // a foreign file is open: reading only, except for temporary tables
    copied,  // one of our files takes in foreign tables, with what their authors declared
  };

  Guard() = default;
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Puts the guard in effect. `bytes`: size of the foreign file. It limits the length of any value,
  // the work of reading the file and the memory that SQLite may use for that in this process.
  void protect(sqlite3* connection, Content content, std::int64_t bytes);
  Content content() const { return content_; }

  // `stop` is called now and then while statements run; returning true ends them. Empty: stops
  // watching.
  void watch(sqlite3* connection, std::function<bool()> stop);
  bool told_to_stop() const { return stop_ && stop_(); }
  // From now on the user's SQL runs as well. `wholly`: WITH clauses may call functions and recurse;
  // SQLite cannot distinguish them from the file's views, so those must have been checked.
  // `endless`: no limit on work, because the user can stop it.
  void hear_user(bool wholly, bool endless);
  // A statement was ended because all statements together did more work than reading the file can
  // need.
  bool exhausted() const { return left_ <= 0 || left_ns_ <= 0; }

  // Called before and after preparing a statement; null: SQLite rejected it.
  void prepares();
  void has_prepared(const sqlite3_stmt* statement);
  // Called before a statement runs. A statement that computes for a view or the user has a tighter
  // limit on value length; others read long stored values.
  void runs(sqlite3* connection, const sqlite3_stmt* statement) {
    if (content_ == Content::ours) return;
    const int length = of_others_.contains(statement) ? longest_of_others_ : longest_;
    if (length != length_) limit_length(connection, length);
  }
  void forgets(const sqlite3_stmt* statement) { of_others_.erase(statement); }
  bool of_others_runs() const { return length_ != longest_; }
  // Whether the user has run a query: an error may then not be the file's fault.
  bool hears_user() const { return hears_; }

  // While the result lives, the connection may ATTACH, or statements may only SELECT.
  class During {
   public:
    explicit During(bool& flag) : flag_(flag) { flag_ = true; }
    ~During() { flag_ = false; }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    bool& flag_;
  };
  During attaching() { return During(attaching_); }
  During asking() { return During(asking_); }

  // While this object lives, a statement may create this table, index or view in the main database
  // and do nothing else.
  class Making {
   public:
    Making(Guard& guard, std::string_view type, std::string_view name)
        : guard_(guard), type_(type), name_(name) {
      guard_.making_ = this;
    }
    ~Making() { guard_.making_ = nullptr; }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;
    bool asked() const { return asked_; }  // whether the statement creates it

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
  bool has_view_ = false;  // the statement being prepared uses a view
  std::unordered_set<const sqlite3_stmt*> of_others_;
  Making* making_ = nullptr;
  int longest_ = 0, longest_of_others_ = 0;  // bytes per value
  int length_ = 0;                           // the limit currently set
  std::int64_t left_ = 1;                    // steps of SQLite's virtual machine
  std::int64_t left_ns_ = 1;                 // ns of the thread's CPU time
  std::int64_t before_ns_ = 0;               // the thread's CPU time at the last check
  std::function<bool()> stop_;
};

}  // namespace gpuprof::store
