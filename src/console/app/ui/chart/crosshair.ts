import { useState, useSyncExternalStore } from 'react'

class Crosshair {
  private place: number | null = null
  private readonly listeners = new Set<() => void>()

  readonly read = (): number | null => this.place

  readonly set = (place: number | null): void => {
    if (place === this.place) return
    this.place = place
    for (const listener of this.listeners) listener()
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

const groups = new Map<string, Crosshair>()

/** The crosshair that charts with the same group share; a chart without a group has its own. */
export function useCrosshair(
  group: string | undefined,
): [place: number | null, set: (place: number | null) => void] {
  const [own] = useState(() => new Crosshair())
  const crosshair = group === undefined ? own : crosshairFor(group)
  return [useSyncExternalStore(crosshair.subscribe, crosshair.read), crosshair.set]
}

function crosshairFor(group: string): Crosshair {
  const found = groups.get(group) ?? new Crosshair()
  groups.set(group, found)
  return found
}
