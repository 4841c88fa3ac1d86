import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ApiError, api, currentSession, onSession, type Session } from './api.ts'

/** Loaded data or an error; `data` stays during a reload. */
export interface Loaded<T> {
  readonly data: T | null
  readonly error: ApiError | null
  readonly isLoading: boolean
  reload(): void
}

/**
 * Loads when the page part appears and whenever `names` change.
 *
 * @param everyMs reload interval while the page is visible; 0 means never
 * @param also reloads when this value changes, and keeps showing the old data until then
 */
export function useLoaded<T>(
  load: () => Promise<T>,
  names: readonly unknown[],
  { everyMs = 0, also = null }: { everyMs?: number; also?: unknown } = {},
): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>(NOTHING)
  const [round, setRound] = useState(0)
  const latest = useRef(load)
  latest.current = load
  const reload = useCallback(() => setRound((n) => n + 1), [])

  // Clears the data, because the user would mistake it for that of the new names.
  useEffect(() => setState(NOTHING), names as unknown[])
  useEffect(() => {
    let isWanted = true
    setState((present) => ({ ...present, isLoading: true }))
    latest.current().then(
      (data) => isWanted && setState({ data, error: null, isLoading: false }),
      (error: unknown) =>
        isWanted &&
        setState((present) => ({ data: present.data, error: asApiError(error), isLoading: false })),
    )
    return () => {
      isWanted = false
    }
  }, [...names, also, round])
  useEffect(() => {
    if (everyMs === 0) return
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])
  return { ...state, reload }
}

const NOTHING = { data: null, error: null, isLoading: true } as const

/** A list that loads page by page. */
export interface Paged<T> extends Loaded<readonly T[]> {
  readonly hasMore: boolean
  more(): void
}

const PAGE_ITEMS = 50

/** @param property property of the response that contains the items */
export function usePaged<T>(path: string, property: string): Paged<T> {
  const [pages, setPages] = useState(1)
  const loaded = useLoaded(
    async () => {
      const items: T[] = []
      let cursor: string | undefined
      for (let page = 0; page < pages; page++) {
        const query = `limit=${PAGE_ITEMS}${cursor === undefined ? '' : `&cursor=${cursor}`}`
        const url = `${path}${path.includes('?') ? '&' : '?'}${query}`
        const answer = await api<Record<string, unknown>>('GET', url)
        items.push(...(answer[property] as T[]))
        cursor = answer['next_cursor'] as string | undefined
        if (cursor === undefined) break
      }
      return { items, hasMore: cursor !== undefined }
    },
    [path],
    { also: pages },
  )
  return {
    ...loaded,
    data: loaded.data?.items ?? null,
    hasMore: loaded.data?.hasMore ?? false,
    more: () => setPages((n) => n + 1),
  }
}

/** An action of the user and its result. */
export interface Action {
  readonly isBusy: boolean
  readonly error: ApiError | null
  run(work: () => Promise<void>): void
  /** Clears the error of the last action. */
  clear(): void
}

export function useAction(): Action {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<ApiError | null>(null)
  // A ref, because rendering lags: otherwise a quick second press passes and a later one is lost.
  const isRunning = useRef(false)
  const run = (work: () => Promise<void>) => {
    if (isRunning.current) return
    isRunning.current = true
    setBusy(true)
    setError(null)
    work()
      .catch((fault: unknown) => setError(asApiError(fault)))
      .finally(() => {
        isRunning.current = false
        setBusy(false)
      })
  }
  return { isBusy, error, run, clear: () => setError(null) }
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('console_fault', error instanceof Error ? error.message : String(error))
}

export function useSession(): Session | null {
  const [session, setSession] = useState(currentSession)
  useLayoutEffect(() => onSession(() => setSession(currentSession())), [])
  return session
}

/** The parts of the address after `#/`. */
export function useRoute(): string[] {
  const [route, setRoute] = useState(routeNow)
  // Subscribes during layout: an address that changes before a later effect would be missed.
  useLayoutEffect(() => {
    const follow = () => setRoute(routeNow())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}

function routeNow(): string[] {
  return location.hash.replace(/^#\/?/, '').split('/').filter(Boolean)
}

export function go(route: string): void {
  location.hash = `#/${route}`
}

/** Increases when the page changes between light and dark. */
export function useTheme(): number {
  const [round, setRound] = useState(0)
  useEffect(() => {
    const follow = () => setRound((n) => n + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', follow)
    addEventListener('themechange', follow)
    return () => {
      system.removeEventListener('change', follow)
      removeEventListener('themechange', follow)
    }
  }, [])
  return round
}
