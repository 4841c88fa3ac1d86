import { setTimeout as delay } from 'node:timers/promises'

/** Longest wait for calls of Node's thread pool that are under way. */
const CALLS_MS_MAX = 300
const LOOK_EVERY_MS = 10
/** Resources of calls that the thread pool runs, as `process.getActiveResourcesInfo` names them. */
const CALL = /^(FSReq|GetAddrInfoReq|GetNameInfoReq)/

/**
 * Ends this process, also while a disk or a name server does not answer: `process.exit` waits for
 * such calls, for as long as they take. Then the process ends itself by SIGKILL, and its exit code
 * is lost.
 *
 * @param onStuck called before SIGKILL
 */
export async function exitProcess(code: number, onStuck: () => void): Promise<never> {
  const untilMs = performance.now() + CALLS_MS_MAX
  while (hasCalls() && performance.now() < untilMs) await delay(LOOK_EVERY_MS)
  if (hasCalls()) {
    onStuck()
    process.kill(process.pid, 'SIGKILL')
  }
  process.exit(code)
}

function hasCalls(): boolean {
  return process.getActiveResourcesInfo().some((name) => CALL.test(name))
}
