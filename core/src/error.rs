//! `EngineError`: why an engine, a port or a capture cannot do what was asked.

/// An error, as one sentence for the user. In Python it is `keisoku.errors.EngineError`.
#[derive(Debug)]
pub struct EngineError(pub String);

pub type Result<T, E = EngineError> = std::result::Result<T, E>;

#[cfg(feature = "python")]
pub mod python {
    use pyo3::{PyErr, PyResult, PyTypeInfo, Python};

    use super::EngineError;

    mod raised {
        pyo3::import_exception!(keisoku.errors, EngineError);
    }

    impl From<EngineError> for PyErr {
        fn from(EngineError(message): EngineError) -> PyErr {
            raised::EngineError::new_err(message)
        }
    }

    /// Imports the class of errors, which panics where it cannot be found: at the first error that would be too late.
    pub fn find_class(py: Python) -> PyResult<()> {
        py.import("keisoku.errors")?;
        raised::EngineError::type_object(py);
        Ok(())
    }
}
