import { Button, Checkbox, TextInput, type TextInputProps } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { readFile, saveFile } from '../api/send.ts'
import { Failure } from './states.tsx'
import { typed } from './typed.ts'

/** The texts of a form; `bind` gives what a field needs. */
export function useFields<Name extends string>(start: Readonly<Record<Name, string>>) {
  const [fields, setFields] = useState<Readonly<Record<Name, string>>>(start)
  const set = (name: Name, value: string) => setFields((now) => ({ ...now, [name]: value }))
  const bind = (name: Name) => ({ name, ...typed(fields[name], (text) => set(name, text)) })
  return { fields, set, bind }
}

export function Box(props: {
  label: string
  isTicked: boolean
  tick: (isTicked: boolean) => void
}) {
  const { label, isTicked, tick } = props
  return (
    <Checkbox
      label={label}
      checked={isTicked}
      onChange={({ currentTarget }) => tick(currentTarget.checked)}
    />
  )
}

/** A field for a file; choosing the same file again, corrected, counts as a choice. */
export function FileField(props: TextInputProps & { onChoose: (file: File | null) => void }) {
  const { onChoose, ...field } = props
  return (
    <TextInput
      type="file"
      onClick={({ currentTarget }) => {
        currentTarget.value = ''
      }}
      onChange={({ currentTarget }) => onChoose(currentTarget.files?.[0] ?? null)}
      {...field}
    />
  )
}

/** A choice of several things by their names. */
export function Boxes(props: {
  legend: string
  choices: readonly { readonly value: string; readonly label: string }[]
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
}) {
  const { legend, choices, chosen, onChange } = props
  return (
    <fieldset className="boxes">
      <legend>{legend}</legend>
      {choices.map(({ value, label }) => (
        <Box
          key={value}
          label={label}
          isTicked={chosen.includes(value)}
          tick={(isTicked) =>
            onChange(isTicked ? [...chosen, value] : chosen.filter((one) => one !== value))
          }
        />
      ))}
    </fieldset>
  )
}

export function Download(props: {
  path: string
  name: string
  accept?: string
  children: ReactNode
}) {
  const { path, name, accept, children } = props
  const reading = useMutation({
    mutationFn: async () => saveFile(name, await readFile(path, accept)),
  })
  return (
    <>
      <Button
        variant="default"
        size="compact-sm"
        aria-busy={reading.isPending}
        onClick={() => !reading.isPending && reading.mutate()}
      >
        {children}
      </Button>
      {reading.error && <Failure error={reading.error} />}
    </>
  )
}
