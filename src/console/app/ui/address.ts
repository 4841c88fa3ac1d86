import { useNavigate, useSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import { typed } from './fields.tsx'

export type Search = Readonly<Record<string, string | undefined>>

/**
 * The state of a page that is in its address, so that a link shows a colleague the same.
 *
 * A change replaces the entry of the history, so Back leaves the page; undefined or an empty text
 * removes a name.
 */
export function useAddress() {
  const search = useSearch({ strict: false }) as Search
  const navigate = useNavigate()
  const change = useCallback(
    (changes: Search) =>
      void navigate({
        to: '.',
        replace: true,
        resetScroll: false,
        search: (present) => withoutEmpty({ ...(present as Search), ...changes }),
      }),
    [navigate],
  )
  const bind = (name: string, standard = '') =>
    typed(search[name] ?? standard, (text) => change({ [name]: text }))
  return [search, change, bind] as const
}

function withoutEmpty(search: Search): Search {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value))
}

/** Reads the part of an address after `?`; all values are texts. */
export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text))
}

export function stringifySearch(search: Record<string, unknown>): string {
  const shown = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(shown.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? '' : `?${text}`
}
