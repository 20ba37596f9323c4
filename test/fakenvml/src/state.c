/* The text files of the state directory: one line a fact, "key value". A file is read
 * again when its inode, size or time changed. */
#include "fakenvml.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct text {
	bool seen;
	unsigned long looked; /* the call that last looked whether it changed */
	ino_t inode;
	off_t size;
	struct timespec changed;
	char *data;
};

static unsigned long calls; /* under the mutex */
static __thread unsigned long call;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct text driver, gpus[MAX_GPUS];

void state_lock(void) { pthread_mutex_lock(&mutex); }
void state_unlock(void) { pthread_mutex_unlock(&mutex); }

void state_call(void) { call = ++calls; }

const char *state_path(const char *name, char *out, size_t size)
{
	const char *dir = getenv("FAKENVML_STATE");
	snprintf(out, size, "%s/%s", dir ? dir : "/nonexistent", name);
	return out;
}

static void load(struct text *t, const char *path, const struct stat *st)
{
	FILE *f = fopen(path, "r");
	free(t->data);
	t->data = calloc(1, st->st_size + 1);
	t->seen = true;
	t->inode = st->st_ino;
	t->size = st->st_size;
	t->changed = st->st_mtim;
	if (f == NULL)
		return;
	if (fread(t->data, 1, st->st_size, f) < (size_t)st->st_size)
		t->seen = false; /* changed meanwhile: read again next time */
	fclose(f);
}

/* content returns the file's text, NULL when there is none. */
static const char *content(int index)
{
	char name[32], path[4096];
	struct stat st;
	struct text *t = index < 0 ? &driver : &gpus[index];

	if (t->seen && t->looked >= call)
		return t->data;
	if (index < 0)
		strcpy(name, "driver");
	else
		snprintf(name, sizeof name, "gpu%d", index);
	if (stat(state_path(name, path, sizeof path), &st) != 0)
		return NULL;
	if (!t->seen || t->inode != st.st_ino || t->size != st.st_size ||
	    t->changed.tv_sec != st.st_mtim.tv_sec || t->changed.tv_nsec != st.st_mtim.tv_nsec)
		load(t, path, &st);
	t->looked = call;
	return t->data;
}

/* find returns the value of the nth line with this key, and its length. */
static const char *find(const char *text, const char *key, int nth, size_t *len)
{
	size_t n = strlen(key);

	for (const char *p = text; p != NULL && *p != 0; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		if (strncmp(p, key, n) != 0 || p[n] != ' ' || nth-- > 0)
			continue;
		p += n + 1;
		*len = strcspn(p, "\n");
		return p;
	}
	return NULL;
}

bool state_line(int index, const char *key, int nth, char *out, size_t size)
{
	size_t len = 0;
	bool found = false;

	if (index >= MAX_GPUS)
		return false;
	state_lock();
	const char *text = content(index);
	const char *value = text ? find(text, key, nth, &len) : NULL;
	if (value != NULL) {
		snprintf(out, size, "%.*s", (int)len, value);
		found = true;
	}
	state_unlock();
	return found;
}

bool state_text(int index, const char *key, char *out, size_t size)
{
	return state_line(index, key, 0, out, size);
}

long long state_number(int index, const char *key, long long otherwise)
{
	char value[64], *end;

	if (!state_text(index, key, value, sizeof value))
		return otherwise;
	long long n = strtoll(value, &end, 0);
	return end == value ? otherwise : n;
}

nvmlReturn_t state_reading(int index, const char *key, long long otherwise, long long *out)
{
	char value[64], *end;

	*out = otherwise;
	if (!state_text(index, key, value, sizeof value))
		return NVML_SUCCESS;
	*out = strtoll(value, &end, 0);
	return end == value ? error_named(value) : NVML_SUCCESS;
}

int state_count(void)
{
	int n = state_number(-1, "count", 0);
	return n > MAX_GPUS ? MAX_GPUS : n;
}

const struct board *state_board(int index)
{
	char key[64] = "";

	state_text(index, "board", key, sizeof key);
	return board_named(key);
}
