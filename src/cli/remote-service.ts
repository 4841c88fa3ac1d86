import { setTimeout as delay } from 'node:timers/promises'

/** The service refused, or could not be reached. */
export class RemoteError extends Error {
  /** True if the same request may succeed later. */
  readonly mayPass: boolean

  constructor(message: string, { mayPass = false, ...options }: FailureOptions = {}) {
    super(message, options)
    this.mayPass = mayPass
  }
}

interface FailureOptions extends ErrorOptions {
  readonly mayPass?: boolean
}

type Request = RequestInit & { readonly duplex?: 'half' }

/** Response codes of a proxy or a service that is away for a while. */
const PASSING = [502, 503, 504]
/** Number of times that a service that is away is asked: for five minutes, each second. */
const ATTEMPTS_MAX = 300

/** A running service, called with a token. */
export class RemoteService {
  private readonly url: string
  private readonly token: string

  /** @param url of the service, without a slash at the end */
  constructor(url: string, token: string) {
    this.url = url
    this.token = token
  }

  /** @throws RemoteError if the service refuses, or can't be reached */
  async send(path: string, init: Request = {}): Promise<Response> {
    let response: Response
    try {
      const headers = { ...init.headers, authorization: `Bearer ${this.token}` }
      response = await fetch(this.url + path, { ...init, headers, redirect: 'error' })
    } catch (cause) {
      const message = `the service at ${this.url} can't be reached`
      throw new RemoteError(message, { cause, mayPass: true })
    }
    if (response.ok) return response
    const body: unknown = await response.json().catch(() => null)
    const hasMessage = typeof body === 'object' && body !== null && 'message' in body
    const reason = hasMessage ? String(body.message) : 'the response gives no reason'
    const mayPass = PASSING.includes(response.status)
    throw new RemoteError(`the service answers ${response.status}: ${reason}`, { mayPass })
  }

  /** @throws RemoteError as `send` does, or where the answer has no end */
  async readJson(path: string, init: Request = {}): Promise<unknown> {
    const response = await this.send(path, init)
    try {
      return await response.json()
    } catch (cause) {
      const message = `the service at ${this.url} broke off its answer`
      throw new RemoteError(message, { cause, mayPass: true })
    }
  }

  /** Asks again for some minutes while the service is away: its work goes on without a watcher. */
  async readPatiently(path: string, pollMs: number): Promise<unknown> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.readJson(path)
      } catch (error) {
        const isPassing = error instanceof RemoteError && error.mayPass
        if (!isPassing || attempt >= ATTEMPTS_MAX) throw error
        await delay(pollMs)
      }
    }
  }
}
