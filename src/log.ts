import { type Logger, pino } from 'pino'

/**
 * The log of the process, as JSON lines on standard output. It never holds bodies, tokens or the
 * secrets of keys; of a request only its id.
 */
export function createLog(level: string): Logger {
  return pino({
    level,
    serializers: { req: () => undefined, res: () => undefined },
    redact: ['req.headers.authorization', 'authorization', 'password', 'key', 'token'],
  })
}
