// Which functions SQL may call on a connection to foreign content.
//
// SQLite calls no hook while it is inside a function, so the cost of a call is bounded here: every
// permitted function runs in time linear in its arguments and its result, and no value is longer
// than Guard allows.
#pragma once

#include <string_view>

struct sqlite3;

namespace gpuprof::store {

// In views stored in a file: the functions that gpuprof's own views call, and similar ones.
bool view_may_call(std::string_view function);
// In a user's query.
bool user_may_call(std::string_view function);

// Replaces functions whose cost is the product of their arguments' lengths, and removes all that a
// user may not call: SQLite does not ask the authorizer about functions in a file's computed
// columns.
void confine_functions(sqlite3* connection);

}  // namespace gpuprof::store
