import { destination, type Logger, pino } from 'pino'

/** Numbers of the streams that a process inherits. */
const FD_BY_STREAM = { stdout: 1, stderr: 2 } as const
export type LogStream = keyof typeof FD_BY_STREAM

/**
 * The log of the process, as JSON lines. It never holds bodies, tokens or the secrets of keys. A
 * request appears with its id only.
 *
 * @param stream the process must write nothing else to it, so that a collector can read every line
 */
export function createLog(level: string, stream: LogStream = 'stdout'): Logger {
  const options = {
    level,
    serializers: { req: () => undefined, res: () => undefined },
    redact: ['req.headers.authorization', 'authorization', 'password', 'key', 'token'],
  }
  return pino(options, destination(FD_BY_STREAM[stream]))
}

/** Writes lines to standard output, each at once and whole, between those of the log. */
export function openLines(): (line: string) => void {
  const stdout = destination(FD_BY_STREAM.stdout)
  return (line) => stdout.write(`${line}\n`)
}
