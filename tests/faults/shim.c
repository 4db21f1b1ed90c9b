/* Fail, cut short or log the calls that change files below one folder. For Linux with glibc; loaded by LD_PRELOAD.
 *
 * FAULTS_CONTROL names a file that every process maps: it holds the folder, the number of the call to fail and how, and
 * the counter, which all processes of an operation share (tests/faults/shim.py has the same layout). While a log is
 * asked for, every call is done and logged under one lock, so that the log has the order in which things happened.
 *
 * Not seen: stores into mapped memory (the mapping and unmapping are), calls made with syscall(2) or io_uring, what the C
 * library does inside its own functions (stdio), and statically linked programs. Of DocMind's parts only Qdrant Edge has
 * such calls: it gives the files of its own log their length with them. tests/faults/test_shim.py compares what is logged
 * with what strace sees.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { COUNT, ONCE, ALWAYS, KILL, TORN };
enum { CREATE = 1, WRITE, TRUNCATE, RENAME, LINK, UNLINK, SYNC, SYNC_FOLDER, MKDIR, RMDIR, NOTE };

struct control {
    int64_t calls;   /* counted so far, by all processes */
    int64_t fired;   /* calls that were failed */
    int64_t at;      /* the number of the call to fail; 0: none */
    int64_t skew_s;  /* seconds added to the time of day */
    int32_t how;     /* one of the first enum */
    int32_t error;   /* errno of a failed call */
    int32_t armed;   /* 0: nothing is counted, failed or logged */
    int32_t unsynced;/* 1: syncs do nothing and are not logged, for a negative control */
    int32_t lock;
    int32_t logs;
    char folder[1024];
    char log[1024];
    char last[64];   /* name of the call that was failed */
};

static struct control idle, *ctl = &idle;
static int log_fd = -1;
static char log_path[1024];

static void use(const char *path) {
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *found = (void *)syscall(SYS_mmap, NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (found != MAP_FAILED) ctl = found;
}

/* Have this process follow another control file; called from Python after a fork. */
void faults_use(const char *path) { use(path); }

#define REAL(result, name, ...) static result (*real_##name)(__VA_ARGS__);
REAL(ssize_t, write, int, const void *, size_t)
REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t)
REAL(ssize_t, writev, int, const struct iovec *, int)
REAL(ssize_t, pwritev64, int, const struct iovec *, int, off64_t)
REAL(int, fsync, int)
REAL(int, fdatasync, int)
REAL(int, sync_file_range, int, off64_t, off64_t, unsigned)
REAL(int, ftruncate64, int, off64_t)
REAL(int, truncate64, const char *, off64_t)
REAL(int, fallocate64, int, int, off64_t, off64_t)
REAL(int, posix_fallocate64, int, off64_t, off64_t)
REAL(int, openat64, int, const char *, int, ...)
REAL(int, renameat, int, const char *, int, const char *)
REAL(int, renameat2, int, const char *, int, const char *, unsigned)
REAL(int, linkat, int, const char *, int, const char *, int)
REAL(int, unlinkat, int, const char *, int)
REAL(int, mkdirat, int, const char *, mode_t)
REAL(ssize_t, copy_file_range, int, off64_t *, int, off64_t *, size_t, unsigned)
REAL(ssize_t, sendfile64, int, int, off64_t *, size_t)
REAL(void *, mmap64, void *, size_t, int, int, int, off64_t)
REAL(int, munmap, void *, size_t)
REAL(int, msync, void *, size_t, int)
REAL(int, clock_gettime, clockid_t, struct timespec *)

static int is_ready;
__attribute__((constructor)) static void begin(void) {
    if (is_ready) return;
#define FIND(name) real_##name = dlsym(RTLD_NEXT, #name);
    FIND(write) FIND(pwrite64) FIND(writev) FIND(pwritev64) FIND(fsync) FIND(fdatasync) FIND(sync_file_range)
    FIND(ftruncate64) FIND(truncate64) FIND(fallocate64) FIND(posix_fallocate64) FIND(openat64) FIND(renameat)
    FIND(renameat2) FIND(linkat) FIND(unlinkat) FIND(mkdirat) FIND(copy_file_range) FIND(sendfile64) FIND(mmap64)
    FIND(munmap) FIND(msync) FIND(clock_gettime)
    const char *path = getenv("FAULTS_CONTROL");
    if (path) use(path);
    is_ready = 1;
}

/* ---- which file it is ---- */

static int is_below(const char *path) {
    size_t size = strlen(ctl->folder);
    return size && !strncmp(path, ctl->folder, size) && (path[size] == '/' || !path[size]);
}

static int of_fd(int fd, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return is_below(path);
}

static int of_name(int at, const char *name, char *path) {
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
    } else {
        char folder[PATH_MAX];
        if (at == AT_FDCWD ? !getcwd(folder, sizeof folder) : (of_fd(at, folder), 0)) return 0;
        if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) return 0;
    }
    return is_below(path);
}

/* ---- whether it is the one to fail ---- */

static int takes_room(const char *name) {
    return strcmp(name, "unlink") && strcmp(name, "munmap") && strcmp(name, "shorten");
}

static int hit(const char *name) {
    int64_t number = __atomic_add_fetch(&ctl->calls, 1, __ATOMIC_SEQ_CST);
    if (ctl->how == COUNT || ctl->at <= 0) return 0;
    if (number != ctl->at && !(ctl->how == ALWAYS && number > ctl->at)) return 0;
    if (ctl->error == ENOSPC && !takes_room(name)) return 0; /* a full disk does not hinder a deletion */
    __atomic_add_fetch(&ctl->fired, 1, __ATOMIC_SEQ_CST);
    if (number == ctl->at) snprintf(ctl->last, sizeof ctl->last, "%s", name);
    return 1;
}

static void die(void) {
    if (ctl->how == KILL || ctl->how == TORN) {
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
        for (;;) sched_yield();
    }
    errno = ctl->error;
}

/* ---- the log ---- */

struct __attribute__((packed)) head {
    uint32_t size;
    uint8_t kind;
    uint64_t offset;
    uint16_t path, other;
};

/* A process that is killed while it holds the lock never lets it go: after a second it is taken. */
static void hold(void) {
    struct timespec began, now;
    if (!ctl->logs) return;
    real_clock_gettime(CLOCK_MONOTONIC, &began);
    while (__atomic_exchange_n(&ctl->lock, 1, __ATOMIC_ACQUIRE)) {
        sched_yield();
        real_clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - began.tv_sec > 1) return;
    }
}

static void let(void) {
    if (!ctl->logs) return;
    int kept = errno;
    __atomic_store_n(&ctl->lock, 0, __ATOMIC_RELEASE);
    errno = kept;
}

/* Must be called with the lock held. */
static void log_it(int kind, const char *path, const char *other, uint64_t offset, const void *data, size_t size) {
    if (!ctl->logs) return;
    int kept = errno;
    if (log_fd < 0 || strcmp(log_path, ctl->log)) {
        snprintf(log_path, sizeof log_path, "%s", ctl->log);
        int fd = syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        log_fd = fcntl(fd, F_DUPFD_CLOEXEC, 700); /* a number that programs do not use */
        syscall(SYS_close, fd);
    }
    struct head head = {0, kind, offset, strlen(path), strlen(other)};
    head.size = sizeof head + head.path + head.other + size;
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.path}, {(void *)other, head.other}, {(void *)data, size}};
    syscall(SYS_writev, log_fd, parts, 4);
    errno = kept;
}

/* Write a note to the log: what was acknowledged. */
void faults_note(const char *text) {
    if (!ctl->logs) return;
    hold();
    log_it(NOTE, "", "", 0, text, strlen(text));
    let();
}

static int is_folder(int fd) {
    struct stat found;
    return !fstat(fd, &found) && S_ISDIR(found.st_mode);
}

#define OFF(fd) (!ctl->armed || (fd) < 0)

/* ---- writes ---- */

static ssize_t flat(const struct iovec *parts, int count, char **data) {
    size_t size = 0;
    for (int n = 0; n < count; n++) size += parts[n].iov_len;
    char *at = *data = malloc(size + 1);
    for (int n = 0; n < count; n++) {
        memcpy(at, parts[n].iov_base, parts[n].iov_len);
        at += parts[n].iov_len;
    }
    return size;
}

static uint64_t place_of(int fd, ssize_t written) {
    return (uint64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) - written; /* after the write, so right for O_APPEND too */
}

ssize_t write(int fd, const void *data, size_t size) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (OFF(fd) || !of_fd(fd, path)) return real_write(fd, data, size);
    if (hit("write")) {
        if (ctl->how == TORN) real_write(fd, data, size / 2);
        die();
        return -1;
    }
    hold();
    ssize_t done = real_write(fd, data, size);
    if (done > 0) log_it(WRITE, path, "", ctl->logs ? place_of(fd, done) : 0, data, done);
    let();
    return done;
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (OFF(fd) || !of_fd(fd, path)) return real_pwrite64(fd, data, size, at);
    if (hit("pwrite")) {
        if (ctl->how == TORN) real_pwrite64(fd, data, size / 2, at);
        die();
        return -1;
    }
    hold();
    ssize_t done = real_pwrite64(fd, data, size, at);
    if (done > 0) log_it(WRITE, path, "", at, data, done);
    let();
    return done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    char path[PATH_MAX], *data;
    if (!is_ready) begin();
    if (OFF(fd) || !of_fd(fd, path)) return real_writev(fd, parts, count);
    ssize_t size = flat(parts, count, &data), done = -1;
    if (hit("writev")) {
        if (ctl->how == TORN) real_write(fd, data, size / 2);
        die();
    } else {
        hold();
        done = real_write(fd, data, size);
        if (done > 0) log_it(WRITE, path, "", ctl->logs ? place_of(fd, done) : 0, data, done);
        let();
    }
    free(data);
    return done;
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
    char path[PATH_MAX], *data;
    if (!is_ready) begin();
    if (OFF(fd) || !of_fd(fd, path)) return real_pwritev64(fd, parts, count, at);
    ssize_t size = flat(parts, count, &data), done = -1;
    if (hit("pwritev")) {
        if (ctl->how == TORN) real_pwrite64(fd, data, size / 2, at);
        die();
    } else {
        hold();
        done = real_pwrite64(fd, data, size, at);
        if (done > 0) log_it(WRITE, path, "", at, data, done);
        let();
    }
    free(data);
    return done;
}

ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off64_t at, int flags) {
    (void)flags;
    return at == -1 ? writev(fd, parts, count) : pwritev64(fd, parts, count, at);
}

ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned flags) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (OFF(out) || !of_fd(out, path)) return real_copy_file_range(in, from, out, to, size, flags);
    if (ctl->logs) { /* the caller falls back to write, which is logged with its bytes */
        errno = EXDEV;
        return -1;
    }
    if (hit("copy_file_range")) {
        if (ctl->how == TORN) real_copy_file_range(in, from, out, to, size / 2, flags);
        die();
        return -1;
    }
    return real_copy_file_range(in, from, out, to, size, flags);
}

ssize_t sendfile64(int out, int in, off64_t *from, size_t size) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (OFF(out) || !of_fd(out, path)) return real_sendfile64(out, in, from, size);
    if (ctl->logs) {
        errno = EINVAL;
        return -1;
    }
    if (hit("sendfile")) {
        if (ctl->how == TORN) real_sendfile64(out, in, from, size / 2);
        die();
        return -1;
    }
    return real_sendfile64(out, in, from, size);
}

/* ---- lengths ---- */

int ftruncate64(int fd, off64_t length) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (OFF(fd) || !of_fd(fd, path)) return real_ftruncate64(fd, length);
    struct stat now;
    int is_longer = !fstat(fd, &now) && length > now.st_size;
    if (hit(is_longer ? "ftruncate" : "shorten")) {
        die();
        return -1;
    }
    hold();
    int done = real_ftruncate64(fd, length);
    if (!done) log_it(TRUNCATE, path, "", length, "", 0);
    let();
    return done;
}

int truncate64(const char *name, off64_t length) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (!ctl->armed || !of_name(AT_FDCWD, name, path)) return real_truncate64(name, length);
    if (hit("truncate")) {
        die();
        return -1;
    }
    hold();
    int done = real_truncate64(name, length);
    if (!done) log_it(TRUNCATE, path, "", length, "", 0);
    let();
    return done;
}

int fallocate64(int fd, int mode, off64_t from, off64_t size) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (!OFF(fd) && of_fd(fd, path) && hit("fallocate")) {
        die();
        return -1;
    }
    return real_fallocate64(fd, mode, from, size);
}

int posix_fallocate64(int fd, off64_t from, off64_t size) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (!OFF(fd) && of_fd(fd, path) && hit("posix_fallocate")) {
        die();
        return errno;
    }
    return real_posix_fallocate64(fd, from, size);
}

/* ---- syncs ---- */

static int synced(int fd, const char *name, int (*real)(int)) {
    char path[PATH_MAX];
    if (OFF(fd) || !of_fd(fd, path)) return real(fd);
    if (hit(name)) {
        die();
        return -1;
    }
    if (ctl->unsynced) return 0;
    hold();
    int done = real(fd);
    if (!done) log_it(is_folder(fd) ? SYNC_FOLDER : SYNC, path, "", 0, "", 0);
    let();
    return done;
}

int fsync(int fd) {
    if (!is_ready) begin();
    return synced(fd, "fsync", real_fsync);
}

int fdatasync(int fd) {
    if (!is_ready) begin();
    return synced(fd, "fdatasync", real_fdatasync);
}

int sync_file_range(int fd, off64_t from, off64_t size, unsigned flags) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (!OFF(fd) && of_fd(fd, path) && hit("sync_file_range")) {
        die();
        return -1;
    }
    return real_sync_file_range(fd, from, size, flags);
}

/* ---- names ---- */

static int opened(int at, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (!ctl->armed || !(flags & (O_CREAT | O_TRUNC)) || !of_name(at, name, path)) return real_openat64(at, name, flags, mode);
    if (hit("open")) {
        die();
        return -1;
    }
    hold();
    int existed = !faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW);
    int fd = real_openat64(at, name, flags, mode);
    if (fd >= 0 && !existed) log_it(CREATE, path, "", 0, "", 0);
    if (fd >= 0 && existed && flags & O_TRUNC) log_it(TRUNCATE, path, "", 0, "", 0);
    let();
    return fd;
}

#define MODE(flags)                                                                                                    \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode = va_arg(rest, mode_t);                                                                                   \
        va_end(rest);                                                                                                  \
    }                                                                                                                  \
    if (!is_ready) begin();

int open64(const char *name, int flags, ...) {
    MODE(flags)
    return opened(AT_FDCWD, name, flags, mode);
}

int openat64(int at, const char *name, int flags, ...) {
    MODE(flags)
    return opened(at, name, flags, mode);
}

int creat64(const char *name, mode_t mode) {
    if (!is_ready) begin();
    return opened(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

int renameat2(int at, const char *name, int to, const char *other, unsigned flags) {
    char path[PATH_MAX], target[PATH_MAX];
    if (!is_ready) begin();
    int below = ctl->armed && (of_name(at, name, path) | of_name(to, other, target));
    if (below && hit("rename")) {
        die();
        return -1;
    }
    if (below) hold();
    int done = flags ? real_renameat2(at, name, to, other, flags) : real_renameat(at, name, to, other);
    if (below && !done) log_it(RENAME, path, target, 0, "", 0);
    if (below) let();
    return done;
}

int renameat(int at, const char *name, int to, const char *other) { return renameat2(at, name, to, other, 0); }
int rename(const char *name, const char *other) { return renameat2(AT_FDCWD, name, AT_FDCWD, other, 0); }

int linkat(int at, const char *name, int to, const char *other, int flags) {
    char path[PATH_MAX], target[PATH_MAX];
    if (!is_ready) begin();
    int below = ctl->armed && (of_name(at, name, path) | of_name(to, other, target));
    if (below && hit("link")) {
        die();
        return -1;
    }
    if (below) hold();
    int done = real_linkat(at, name, to, other, flags);
    if (below && !done) log_it(LINK, path, target, 0, "", 0);
    if (below) let();
    return done;
}

int link(const char *name, const char *other) { return linkat(AT_FDCWD, name, AT_FDCWD, other, 0); }

int unlinkat(int at, const char *name, int flags) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (!ctl->armed || !of_name(at, name, path)) return real_unlinkat(at, name, flags);
    if (hit("unlink")) {
        die();
        return -1;
    }
    hold();
    int done = real_unlinkat(at, name, flags);
    if (!done) log_it(flags & AT_REMOVEDIR ? RMDIR : UNLINK, path, "", 0, "", 0);
    let();
    return done;
}

int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }
int rmdir(const char *name) { return unlinkat(AT_FDCWD, name, AT_REMOVEDIR); }
int remove(const char *name) {
    int done = unlink(name);
    return done && errno == EISDIR ? rmdir(name) : done;
}

int mkdirat(int at, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    if (!ctl->armed || !of_name(at, name, path)) return real_mkdirat(at, name, mode);
    if (hit("mkdir")) {
        die();
        return -1;
    }
    hold();
    int done = real_mkdirat(at, name, mode);
    if (!done) log_it(MKDIR, path, "", 0, "", 0);
    let();
    return done;
}

int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

/* ---- mapped files: a shared map that can be written counts when it is made, synced and ended ---- */

enum { MAPS = 4096 };
static struct { void *at; size_t size; } maps[MAPS];
static int map_lock;

static int map_of(void *at, int add, size_t size) {
    int found = -1;
    while (__atomic_exchange_n(&map_lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
    for (int n = 0; n < MAPS && found < 0; n++)
        if (add ? !maps[n].at : maps[n].at && maps[n].at == at) found = n;
    if (add && found >= 0) maps[found].at = at, maps[found].size = size;
    __atomic_store_n(&map_lock, 0, __ATOMIC_RELEASE);
    return found;
}

void *mmap64(void *where, size_t size, int rights, int flags, int fd, off64_t from) {
    char path[PATH_MAX];
    if (!is_ready) begin();
    int is_kind = (flags & MAP_SHARED) && (rights & PROT_WRITE);
    if (!is_kind || OFF(fd) || !of_fd(fd, path)) return real_mmap64(where, size, rights, flags, fd, from);
    if (hit("mmap")) {
        die();
        return MAP_FAILED;
    }
    void *found = real_mmap64(where, size, rights, flags, fd, from);
    if (found != MAP_FAILED) map_of(found, 1, size);
    return found;
}

int munmap(void *at, size_t size) {
    if (!is_ready) begin();
    int found = ctl->armed ? map_of(at, 0, 0) : -1;
    if (found >= 0) {
        maps[found].at = NULL;
        if (hit("munmap")) {
            if (ctl->how == KILL || ctl->how == TORN) die();
            __atomic_sub_fetch(&ctl->fired, 1, __ATOMIC_SEQ_CST); /* an error would only leak the map: none is given */
        }
    }
    return real_munmap(at, size);
}

int msync(void *at, size_t size, int flags) {
    if (!is_ready) begin();
    if (ctl->armed && map_of(at, 0, 0) >= 0 && hit("msync")) {
        die();
        return -1;
    }
    return real_msync(at, size, flags);
}

/* ---- the time of day ---- */

int clock_gettime(clockid_t which, struct timespec *found) {
    if (!is_ready) begin();
    int done = real_clock_gettime(which, found);
    if (!done && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) found->tv_sec += ctl->skew_s;
    return done;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int done = clock_gettime(CLOCK_REALTIME, &now);
    if (!done) found->tv_sec = now.tv_sec, found->tv_usec = now.tv_nsec / 1000;
    return done;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}

/* ---- the names without 64: the same functions where off_t has 64 bits ---- */
#undef pwrite
#undef pwritev
#undef ftruncate
#undef truncate
#undef fallocate
#undef posix_fallocate
#undef open
#undef openat
#undef creat
#undef sendfile
#undef mmap
#define SAME(name, other) __asm__(".globl " #name "\n.set " #name ", " #other);
SAME(pwrite, pwrite64)
SAME(pwritev, pwritev64)
SAME(pwritev2, pwritev64v2)
SAME(ftruncate, ftruncate64)
SAME(truncate, truncate64)
SAME(fallocate, fallocate64)
SAME(posix_fallocate, posix_fallocate64)
SAME(open, open64)
SAME(openat, openat64)
SAME(creat, creat64)
SAME(sendfile, sendfile64)
SAME(mmap, mmap64)
