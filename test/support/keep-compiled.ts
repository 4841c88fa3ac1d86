import { flushCompileCache } from 'node:module'
import { afterAll } from 'vitest'

// A process of tests is ended by a signal, at which Node keeps nothing of what it has compiled.
afterAll(() => flushCompileCache())
