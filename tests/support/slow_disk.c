// A disk that does not answer, for tests: whoever looks at a path below $FLEMMA_SLOW_DISK waits as long as the file
// $FLEMMA_SLOW_DISK.gate is there. It is preloaded into the editor (Linux).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void pass(const char *path) {
  const char *slow = getenv("FLEMMA_SLOW_DISK");
  char gate[4096];
  if (!slow || !path || strncmp(path, slow, strlen(slow)) != 0 || strstr(path, ".gate")) {
    return;
  }
  snprintf(gate, sizeof gate, "%s.gate", slow);
  while (access(gate, F_OK) == 0) {
    usleep(5000);
  }
}

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

char *realpath(const char *path, char *out) {
  REAL(realpath);
  pass(path);
  return real(path, out);
}

int statx(int dir, const char *path, int flags, unsigned int mask, struct statx *out) {
  REAL(statx);
  pass(path);
  return real(dir, path, flags, mask, out);
}

ssize_t readlink(const char *path, char *out, size_t size) {
  REAL(readlink);
  pass(path);
  return real(path, out, size);
}

int lstat64(const char *path, struct stat64 *out) {
  REAL(lstat64);
  pass(path);
  return real(path, out);
}

int stat64(const char *path, struct stat64 *out) {
  REAL(stat64);
  pass(path);
  return real(path, out);
}

int open64(const char *path, int flags, ...) {
  REAL(open64);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  pass(path);
  return real(path, flags, mode);
}
