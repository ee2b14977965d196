#include <fcntl.h>
#include <sys/mman.h>

static int cpu_profile_file = -1;

/* Memory of the host for a profile; none if the host wants none. */
void *cpu_profile_memory(unsigned long size)
{
	const char *name = getenv("FSDYNO_PROFILE");
	void *memory;

	if (!name)
		return NULL;
	cpu_profile_file = open(name, O_WRONLY | O_APPEND | O_CLOEXEC);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (cpu_profile_file < 0 || memory == MAP_FAILED) {
		os_warn("no profile can be made in %s, errno = %d\n", name, errno);
		exit(1);
	}
	return memory;
}

long cpu_profile_write(const void *bytes, unsigned long size)
{
	long written = write(cpu_profile_file, bytes, size);

	return written < 0 ? -errno : written;
}

