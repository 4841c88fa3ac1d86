import { Button, NativeSelect, Textarea, TextInput } from '@mantine/core'
import { useLocalStorage } from '@mantine/hooks'
import { useState } from 'react'
import { Copy } from '../../ui/facts.tsx'
import { typed } from '../../ui/fields.tsx'
import { Panel } from '../../ui/page.tsx'
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

/** The whole letter in the applicant's language, from the lender's template. */
export function LetterPanel({ facts }: { facts: LetterFacts }) {
  const [kept, setKept] = useLocalStorage<Kept>({
    key: KEPT,
    defaultValue: {},
    getInitialValueInEffect: false,
  })
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
