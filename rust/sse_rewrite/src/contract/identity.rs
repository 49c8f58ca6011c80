//! What names an output item: the fields that must never change once announced.

/// The identity of an output item, as the contract lists its fields.
///
/// An empty id, `call_id` or name is none: it is taken as `None`, so that `""` can neither win
/// over a real value nor be pinned as one. An empty namespace or label is a value like others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The item's type, such as `function_call`; empty where the sender gave none.
    pub kind: String,
    /// The item's `id`.
    pub id: Option<String>,
    /// The `call_id` that a client answers.
    pub call_id: Option<String>,
    /// The name of the function or tool called.
    pub name: Option<String>,
    /// The namespace of the function called.
    pub namespace: Option<String>,
    /// The label of the MCP server called.
    pub server_label: Option<String>,
}

/// One field of an [`Identity`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// `id`, and `item_id` in item-scoped events.
    Id,
    /// `call_id`.
    CallId,
    /// `name`.
    Name,
    /// `namespace`.
    Namespace,
    /// `server_label`.
    ServerLabel,
}

impl Field {
    /// Every field that can be corrected on a later mention (the type cannot: an item of
    /// another type is another item).
    pub const ALL: [Self; 5] = [
        Self::Id,
        Self::CallId,
        Self::Name,
        Self::Namespace,
        Self::ServerLabel,
    ];

    /// The field's key in an item.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::CallId => "call_id",
            Self::Name => "name",
            Self::Namespace => "namespace",
            Self::ServerLabel => "server_label",
        }
    }
}

impl Identity {
    /// An identity with nothing but a type.
    #[must_use]
    pub fn of_kind(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            ..Self::default()
        }
    }

    /// The value of `field`, if the item has one.
    #[must_use]
    pub fn get(&self, field: Field) -> Option<&str> {
        match field {
            Field::Id => self.id.as_deref(),
            Field::CallId => self.call_id.as_deref(),
            Field::Name => self.name.as_deref(),
            Field::Namespace => self.namespace.as_deref(),
            Field::ServerLabel => self.server_label.as_deref(),
        }
    }

    /// Sets `field`; an empty id, `call_id` or name clears it.
    pub fn set(&mut self, field: Field, value: Option<String>) {
        let is_handle = matches!(field, Field::Id | Field::CallId | Field::Name);
        let value = value.filter(|text| !(is_handle && text.is_empty()));
        match field {
            Field::Id => self.id = value,
            Field::CallId => self.call_id = value,
            Field::Name => self.name = value,
            Field::Namespace => self.namespace = value,
            Field::ServerLabel => self.server_label = value,
        }
    }

    /// Takes over from `later` whatever this identity lacks (C1: filled in, then fixed).
    pub fn fill_from(&mut self, later: &Self) {
        for field in Field::ALL {
            if self.get(field).is_none() {
                self.set(field, later.get(field).map(str::to_owned));
            }
        }
    }

    /// The fields of `carried` that must be replaced so that it carries this identity.
    ///
    /// Fields this identity does not have are left alone: they were never announced.
    pub fn corrections<'a>(
        &'a self,
        carried: &'a Self,
    ) -> impl Iterator<Item = (Field, &'a str)> + 'a {
        Field::ALL.into_iter().filter_map(move |field| {
            let announced = self.get(field)?;
            (carried.get(field) != Some(announced)).then_some((field, announced))
        })
    }

    /// The longest text among the fields, in bytes: what a limit on identities measures.
    #[must_use]
    pub fn longest_field(&self) -> usize {
        Field::ALL
            .into_iter()
            .filter_map(|field| self.get(field))
            .map(str::len)
            .chain([self.kind.len()])
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_value_is_no_identity() {
        let mut identity = Identity::of_kind("message");
        identity.set(Field::Id, Some(String::new()));
        assert_eq!(identity.get(Field::Id), None);
    }

    #[test]
    fn corrections_name_only_what_differs_and_was_announced() {
        let mut announced = Identity::of_kind("function_call");
        announced.set(Field::Id, Some("fc_1".into()));
        announced.set(Field::CallId, Some("call_1".into()));
        let mut carried = announced.clone();
        carried.set(Field::CallId, Some("chatcmpl-tool-9".into()));
        carried.set(Field::Name, Some("get_weather".into()));
        let corrections: Vec<_> = announced.corrections(&carried).collect();
        assert_eq!(corrections, [(Field::CallId, "call_1")]);
    }

    #[test]
    fn a_field_absent_at_the_announcement_is_filled_then_fixed() {
        let mut announced = Identity::of_kind("function_call");
        let mut first = Identity::of_kind("function_call");
        first.set(Field::CallId, Some("call_1".into()));
        announced.fill_from(&first);
        let mut second = Identity::of_kind("function_call");
        second.set(Field::CallId, Some("call_2".into()));
        announced.fill_from(&second);
        assert_eq!(announced.call_id.as_deref(), Some("call_1"));
    }
}
