// Before every file of a ThreadSanitizer build. The sanitizer of clang 16 does not see the lock that
// std::timed_mutex takes by the steady clock (pthread_mutex_clocklock) and calls its unlock wrong;
// without it libstdc++ takes one that the sanitizer sees.
#include <version>

#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
