import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** The entry of all commands, from the root. */
export const PROGRAM = 'src/cli/scoreline.mjs'

/** What a run of a command line left behind. */
export interface AdminRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs the operator's command line as a process, with nothing of the test's own environment.
 *
 * @param stdin what it is given on standard input; without it there is none
 */
export function runAdmin(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  stdin?: string | Buffer,
): Promise<AdminRun> {
  return runProcess(env, [PROGRAM, 'admin', ...args], stdin)
}

/** Runs the command line of an import in the same way. */
export function runImport(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<AdminRun> {
  return runProcess(env, [PROGRAM, 'import', ...args])
}

async function runProcess(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  stdin?: string | Buffer,
): Promise<AdminRun> {
  const child = spawn(process.execPath, [...args], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  }
  // A command that reads none ends before it takes what it is given.
  child.stdin.on('error', () => {})
  child.stdin.end(stdin ?? '')
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, ...output }
}
