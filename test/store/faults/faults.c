/*
 * Lets a system call fail: preloaded into a process (LD_PRELOAD), it counts the writes, syncs, reads and truncations of
 * files below FAULTS_BELOW and refuses those that the process asks it to.
 *
 * FAULTS_CONTROL is a file of seven 32-bit numbers that both share: which kind of call (0: none), from which on, how many
 * of them (0: all from there), with which errno (0: the process is killed instead), and what came of it: how many were
 * counted, how many failed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRITE = 1, SYNC, READ, TRUNCATE };

static volatile struct {
  int kind, first, number, error, counted, failed, spare;
} *control;
static const char *below;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTS_CONTROL");
  below = getenv("FAULTS_BELOW");
  if (!path || !below) return;
  int file = open(path, O_RDWR);
  if (file < 0) return;
  void *shared = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared != MAP_FAILED) control = shared;
  close(file);
}

static int is_below(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strncmp(path, below, strlen(below)) == 0;
}

static int fails(int kind, int file) {
  if (!control || control->kind != kind || !is_below(file)) return 0;
  int at = __sync_add_and_fetch(&control->counted, 1);
  if (at < control->first || (control->number && at >= control->first + control->number)) return 0;
  __sync_add_and_fetch(&control->failed, 1);
  if (!control->error) kill(getpid(), SIGKILL);
  errno = control->error;
  return 1;
}

#define CALL(kind, type, name, parameters, ...)                                                                          \
  type name parameters {                                                                                                 \
    static type(*real) parameters;                                                                                       \
    if (!real) real = dlsym(RTLD_NEXT, #name);                                                                           \
    return fails(kind, file) ? -1 : real(__VA_ARGS__);                                                                   \
  }

CALL(WRITE, ssize_t, write, (int file, const void *bytes, size_t n), file, bytes, n)
CALL(WRITE, ssize_t, pwrite, (int file, const void *bytes, size_t n, off_t at), file, bytes, n, at)
CALL(WRITE, ssize_t, pwrite64, (int file, const void *bytes, size_t n, off64_t at), file, bytes, n, at)
CALL(SYNC, int, fsync, (int file), file)
CALL(SYNC, int, fdatasync, (int file), file)
CALL(READ, ssize_t, read, (int file, void *bytes, size_t n), file, bytes, n)
CALL(READ, ssize_t, pread, (int file, void *bytes, size_t n, off_t at), file, bytes, n, at)
CALL(READ, ssize_t, pread64, (int file, void *bytes, size_t n, off64_t at), file, bytes, n, at)
CALL(TRUNCATE, int, ftruncate, (int file, off_t to), file, to)
CALL(TRUNCATE, int, ftruncate64, (int file, off64_t to), file, to)
