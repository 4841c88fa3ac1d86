import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useState } from 'react'
import { Copy } from '../../ui/facts.tsx'
import { typed } from '../../ui/fields.tsx'
import { Panel } from '../../ui/page.tsx'
import { isObject } from '../../ui/reason-words.ts'
import { Notice } from '../../ui/states.tsx'
import {
  DECISIONS,
  type Decision,
  type LetterFacts,
  letterLanguage,
  letterText,
  standardTemplate,
} from './letter.ts'

/** Key of the browser's store for the lender's own words, without any of an applicant. */
const KEPT = 'scoreline.letter'

type Kept = Readonly<Record<string, string>>

/** Null for what is no template, such as half of a text. */
function readKept(text = '{}'): Kept | null {
  try {
    const found: unknown = JSON.parse(text)
    const areTexts = isObject(found) && Object.values(found).every((one) => typeof one === 'string')
    return areTexts ? (found as Kept) : null
  } catch {
    return null
  }
}

/** The whole letter in the applicant's language, from the lender's template. */
export function LetterPanel({ facts }: { facts: LetterFacts }) {
  const [stored, setKept] = useLocalStorage<Kept | null>({
    key: KEPT,
    defaultValue: {},
    getInitialValueInEffect: false,
    deserialize: readKept,
  })
  const kept = stored ?? {}
  const [decision, setDecision] = useState<Decision>('declined')
  const language = letterLanguage(facts.lang)
  const isKnown = facts.lang.toLowerCase().startsWith(language)
  const keep = (name: string, text: string) => setKept({ ...kept, [name]: text })
  const field = (name: 'lender' | 'contact', label: string) => (
    <TextInput
      label={label}
      maxLength={240}
      {...typed(kept[name] ?? '', (text) => keep(name, text))}
    />
  )
  const template = kept[language] || standardTemplate(language)
  const text = letterText(facts, {
    lender: kept['lender'] || '[lender]',
    contact: kept['contact'] || '[address]',
    decision,
    template,
  })
  return (
    <Panel title="Letter to the applicant" actions={<Copy text={text} label="Copy the letter" />}>
      {stored === null && (
        <Notice kind="watch">
          What this browser keeps of your letter can’t be read, so the standard is shown. Your next
          change replaces it.
        </Notice>
      )}
      <div className="filters">
        {field('lender', 'Lender')}
        {field('contact', 'Where to write to')}
        <NativeSelect
          label="Decision"
          data={DECISIONS}
          {...typed(decision, (chosen) => setDecision(chosen as Decision))}
        />
      </div>
      {!isKnown && (
        <p className="muted">The sentences around the reasons are English: translate them.</p>
      )}
      <section aria-label="Letter to the applicant" lang={isKnown ? language : 'en'}>
        <p className="letter">{text}</p>
      </section>
      <details>
        <summary>Template</summary>
        <Textarea
          label="Template"
          description="This browser keeps it. Names in braces are put in: lender, decision, day, score, least, most, reasons, contact."
          rows={16}
          maxLength={20_000}
          {...typed(template, (text) => keep(language, text))}
        />
        <Button variant="default" size="compact-sm" onClick={() => keep(language, '')}>
          Back to the standard
        </Button>
      </details>
    </Panel>
  )
}
