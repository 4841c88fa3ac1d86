import { Button, Checkbox, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type ChangeEvent, type ReactNode, useState } from 'react'
import { readFile, saveFile } from '../api/send.ts'
import { Failure } from './states.tsx'

type Typed = ChangeEvent<HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>

/** The texts of a form; `bind` gives what a field needs. */
export function useFields<Name extends string>(start: Readonly<Record<Name, string>>) {
  const [fields, setFields] = useState<Readonly<Record<Name, string>>>(start)
  const set = (name: Name, value: string) => setFields((now) => ({ ...now, [name]: value }))
  const bind = (name: Name) => ({
    name,
    value: fields[name],
    onChange: ({ currentTarget }: Typed) => set(name, currentTarget.value),
  })
  return { fields, set, bind }
}

/** A field for a file; choosing the same file again, corrected, counts as a choice. */
export function FileField({
  label,
  description,
  accept,
  onChoose,
}: {
  label: string
  description?: string
  accept: string
  onChoose: (file: File | null) => void
}) {
  return (
    <TextInput
      type="file"
      label={label}
      description={description}
      accept={accept}
      onClick={({ currentTarget }) => {
        currentTarget.value = ''
      }}
      onChange={({ currentTarget }) => onChoose(currentTarget.files?.[0] ?? null)}
    />
  )
}

/** A choice of several things by their names. */
export function Boxes({
  legend,
  choices,
  chosen,
  onChange,
}: {
  legend: string
  choices: readonly { readonly value: string; readonly label: string }[]
  chosen: readonly string[]
  onChange: (chosen: string[]) => void
}) {
  return (
    <fieldset className="boxes">
      <legend>{legend}</legend>
      {choices.map(({ value, label }) => (
        <Checkbox
          key={value}
          label={label}
          checked={chosen.includes(value)}
          onChange={({ currentTarget }) =>
            onChange(
              currentTarget.checked ? [...chosen, value] : chosen.filter((one) => one !== value),
            )
          }
        />
      ))}
    </fieldset>
  )
}

/** A button that stores what a path of the API returns. */
export function Download({
  path,
  name,
  accept,
  children,
}: {
  path: string
  name: string
  accept?: string
  children: ReactNode
}) {
  const reading = useMutation({
    mutationFn: async () => saveFile(name, await readFile(path, accept)),
  })
  return (
    <>
      <Button
        variant="default"
        size="compact-md"
        aria-busy={reading.isPending}
        onClick={() => !reading.isPending && reading.mutate()}
      >
        {children}
      </Button>
      {reading.error && <Failure error={reading.error} />}
    </>
  )
}
