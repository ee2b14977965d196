extern unsigned long long time_travel_counter(void);

/* Makes rdtsc and rdtscp of this process fault, if time is virtual. */
static void hide_counter(void)
{
	if (time_travel_mode == TT_MODE_OFF)
		return;
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0) {
		os_info("the host cannot hide its time stamp counter, errno = %d\n", errno);
		exit(1);
	}
}

/* A byte of the code of a process, or -1. */
static int code_byte(int pid, unsigned long address)
{
	unsigned long start = address & ~(sizeof(long) - 1);
	unsigned long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, (void *)start, 0);
	return errno ? -1 : (word >> 8 * (address - start)) & 0xff;
}

/*
 * Executes the instruction if it is rdtsc (0f 31) or rdtscp (0f 01 f9): a cycle is a nanosecond of
 * virtual time, and the processor has number 0.
 */
static bool emulate_counter(int pid, struct uml_pt_regs *regs)
{
	unsigned long ip = UPT_IP(regs);
	unsigned long long now;
	int second;

	if (code_byte(pid, ip) != 0x0f)
		return false;
	second = code_byte(pid, ip + 1);
	if (second != 0x31 && (second != 0x01 || code_byte(pid, ip + 2) != 0xf9))
		return false;
	now = time_travel_counter();
	regs->gp[HOST_AX] = now & 0xffffffff;
	regs->gp[HOST_DX] = now >> 32;
	if (second == 0x01)
		regs->gp[HOST_CX] = 0;
	UPT_IP(regs) += second == 0x01 ? 3 : 2;
	return true;
}
