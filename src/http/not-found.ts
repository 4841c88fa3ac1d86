import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { errorReply } from './reply.ts'
import { STATUS_BY_CODE } from './status.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The methods that routes have at a path; empty: no route has it. */
    methodsAt(path: string): readonly string[]
  }
}

const METHOD_NOT_ALLOWED = 405

/** Notes the routes that are registered after it, for `notFoundHandler`. */
export function noteMethods(app: FastifyInstance): void {
  const methodsByRoute = new Map<string, { readonly path: RegExp; readonly methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
    const noted = methodsByRoute.get(url) ?? { path: pathPattern(url), methods: new Set() }
    for (const one of [method].flat()) noted.methods.add(one)
    methodsByRoute.set(url, noted)
  })
  app.decorate('methodsAt', (path) => {
    const found = [...methodsByRoute.values()].filter((route) => route.path.test(path))
    return [...new Set(found.flatMap(({ methods }) => [...methods]))].sort()
  })
}

/** Answers a method and path that no route has: 405 where another method has the path. */
export function notFoundHandler(request: FastifyRequest, reply: FastifyReply): void {
  const [path = ''] = request.url.split('?', 1)
  const methods = request.server.methodsAt(path)
  // A route may find that it has no such file.
  if (methods.length === 0 || methods.includes(request.method)) {
    const message = 'no endpoint has this method and path'
    reply.code(STATUS_BY_CODE.not_found).send(errorReply('not_found', message, request.id))
    return
  }
  const allowed = methods.join(', ')
  const message = `no endpoint has this method at this path: use ${allowed}`
  reply.code(METHOD_NOT_ALLOWED).header('allow', allowed)
  reply.send(errorReply('not_found', message, request.id))
}

/** `/v1/keys/:id` as an expression; a `*` stands for the rest of a path. */
function pathPattern(url: string): RegExp {
  const steps = url.split('/').map((step) => {
    if (step.startsWith(':')) return '[^/]+'
    return step.split('*').map(escapeText).join('.*')
  })
  return new RegExp(`^${steps.join('/')}$`)
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
