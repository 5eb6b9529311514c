// A disk that does not answer, for tests. It is preloaded (Linux). Whoever looks at a path below $FLEMMA_SLOW_DISK waits as long
// as the file $FLEMMA_SLOW_DISK.gate is there. With $FLEMMA_SLOW_CALL, it is only this one of the calls that the program
// $FLEMMA_SLOW_PROGRAM makes for exactly that path, and $FLEMMA_SLOW_DISK.waits is there then.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static _Atomic int calls;

static void pass(const char *path) {
  const char *slow = getenv("FLEMMA_SLOW_DISK"), *call = getenv("FLEMMA_SLOW_CALL");
  char name[4096];
  if (!slow || !path || strncmp(path, slow, strlen(slow)) != 0 || strstr(path, ".gate")) {
    return;
  }
  if (call) {
    const char *program = getenv("FLEMMA_SLOW_PROGRAM");
    if (strcmp(path, slow) != 0 || strcmp(program_invocation_short_name, program) != 0 || ++calls != atoi(call)) {
      return;
    }
    snprintf(name, sizeof name, "%s.waits", slow);
    fclose(fopen(name, "w"));
  }
  snprintf(name, sizeof name, "%s.gate", slow);
  while (access(name, F_OK) == 0) {
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

int open(const char *path, int flags, ...) {
  REAL(open);
  va_list rest;
  va_start(rest, flags);
  mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  pass(path);
  return real(path, flags, mode);
}

// How libuv looks at files.
long syscall(long number, ...) {
  REAL(syscall);
  va_list rest;
  long a[6];
  va_start(rest, number);
  for (int i = 0; i < 6; i++) {
    a[i] = va_arg(rest, long);
  }
  va_end(rest);
  if (number == SYS_statx) {
    pass((const char *)a[1]);
  }
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
