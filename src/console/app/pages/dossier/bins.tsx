import type { Schemas } from '../../api/types.ts'
import { binText } from '../../ui/card.ts'

/** Longer lists of categories are cut: the model's page shows them all. */
const SHOWN_MAX = 5
const OR = ' or '

interface BinOfScore {
  readonly range?: string
  readonly value?: string
  readonly label?: string
}

/** The label of a bin, else its range or categories. */
export function binWords(bin: BinOfScore): string {
  if (bin.label !== undefined) return bin.label
  const parts = binText(bin).split(OR)
  if (parts.length <= SHOWN_MAX) return parts.join(OR)
  return `${parts.slice(0, SHOWN_MAX).join(OR)} and ${parts.length - SHOWN_MAX} more`
}

const OUTCOMES: Readonly<Record<string, string>> = {
  missing: 'missing',
  unseen_category: 'unseen category',
  no_bin: 'in no bin',
  not_a_number: 'not a number',
}

export function LoggedBin({ logged }: { logged: Schemas['LoggedFeature'] }) {
  const { outcome, bin } = logged
  const text = bin === null ? null : binWords(bin)
  if (outcome === 'matched') return <bdi>{text}</bdi>
  return (
    <>
      <span className="muted">{OUTCOMES[outcome] ?? 'no value that a bin matches'}</span>
      {text !== null && text !== 'Missing' && ` ${text}`}
    </>
  )
}
